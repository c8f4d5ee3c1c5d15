SELECT MAX(n) AS m, MIN(n) AS l, SUM(n) AS s, AVG(n) AS a, COUNT(*) AS c, MEDIAN(n) AS d FROM (INNER)

SELECT COUNT(*) AS c FROM (INNER) WHERE n > 20

SELECT sex, SUM(n) AS s FROM (INNER) GROUP BY sex ORDER BY sex

SELECT sex, SUM(n) AS s FROM (INNER) WHERE decade >= 30 GROUP BY sex HAVING SUM(n) > 10 ORDER BY s DESC

SELECT * FROM (INNER) ORDER BY n DESC, decade, sex LIMIT 4

SELECT x.* FROM (INNER) AS x WHERE x.h IS NOT NULL ORDER BY 1, 2

SELECT decade / 10 + 1 AS d, MAX(sex) AS last, SUM(n) AS s FROM (INNER) GROUP BY decade / 10 ORDER BY d

SELECT decade, sex, n * 100 AS p, CASE WHEN n > 20 THEN 'many' ELSE 'few' END AS k FROM (INNER) ORDER BY decade, sex

SELECT MAX(s) AS m FROM (SELECT sex, SUM(n) AS s FROM (INNER) GROUP BY sex)

SELECT AVG(s) AS a FROM (SELECT decade, SUM(n) AS s FROM (SELECT * FROM (INNER) WHERE n > 5) GROUP BY decade) WHERE s > 9

SELECT COUNT(*) AS c, MAX(N) AS "Top" FROM (SELECT sex AS "Sex", n AS "N" FROM (INNER)) WHERE "sex" = 'f'

WITH a AS (INNER) SELECT sex, COUNT(*) AS c, MAX(h) AS m FROM a GROUP BY ALL ORDER BY c, sex

SELECT x.sex AS n, x.n AS sex, decade FROM (INNER) AS x ORDER BY n, x.n, decade

SELECT sex AS n, n AS sex, decade FROM (INNER) ORDER BY sex DESC, decade LIMIT 3

SELECT SUM(n) AS s, SUM(twice) AS t, MAX(n) AS m FROM (SELECT n, n * 2 AS twice FROM (INNER)) WHERE n > 1000000

SELECT BOOL_OR(n > 100) AS some, BOOL_AND(n > 100) AS every FROM (INNER)
