SELECT sex, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS total, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS p FROM people GROUP BY sex ORDER BY sex

SELECT disease, clinic, COUNT(*) AS n, RANK() OVER (PARTITION BY disease ORDER BY COUNT(*) DESC, clinic) AS place FROM visits GROUP BY 1, 2 HAVING COUNT(*) > 0 QUALIFY place <= 2 ORDER BY 1, 4

SELECT clinic, n, n - LAG(n) OVER (ORDER BY clinic) AS change, SUM(n) OVER (ORDER BY clinic) AS running, AVG(n) OVER (ORDER BY clinic ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving, NTILE(3) OVER (ORDER BY clinic) AS third FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) ORDER BY clinic

SELECT clinic, COUNT(*) AS n, FIRST_VALUE(clinic) OVER w AS top, ROW_NUMBER() OVER w AS place FROM visits GROUP BY clinic WINDOW w AS (ORDER BY COUNT(*) DESC, clinic) ORDER BY clinic

SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic ORDER BY clinic LIMIT 3 OFFSET 2

SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic ORDER BY n DESC, clinic DESC LIMIT 4

SELECT 'f' AS who, COUNT(*) AS n FROM people WHERE sex = 'f' UNION ALL SELECT 'm' AS who, COUNT(*) AS n FROM people WHERE sex = 'm' ORDER BY who

SELECT disease FROM visits GROUP BY disease HAVING COUNT(*) > 3 EXCEPT SELECT 'Gout' ORDER BY 1

SELECT sex FROM people GROUP BY sex HAVING COUNT(*) > 0 INTERSECT SELECT sex FROM patients GROUP BY sex HAVING COUNT(*) > 0 ORDER BY 1

SELECT a.sex, a.n, b.n AS m, 1.0 * a.n / b.n AS r FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS a JOIN (SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex) AS b ON a.sex = b.sex ORDER BY a.sex

WITH a AS (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic), b AS (SELECT AVG(n) AS mean FROM a) SELECT clinic, n - mean AS d FROM a, b ORDER BY clinic

WITH rows AS (SELECT * FROM people WHERE age > 30), a AS (SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex) SELECT sex, n, n / (SELECT SUM(n) FROM a) AS part FROM a ORDER BY sex

SELECT clinic, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM visits) AS p FROM visits GROUP BY clinic ORDER BY clinic

SELECT (SELECT COUNT(*) FROM people WHERE sex = 'f') - (SELECT COUNT(*) FROM people WHERE sex = 'm') AS d

SELECT clinic, SQRT(COUNT(*)) AS r, LN(COUNT(*)) AS l, POWER(COUNT(*), 2) AS p, COUNT(*) ** 0.5 AS q, COUNT(*) // 7 AS i, COUNT(*) % 7 AS m, EXP(-COUNT(*)) AS e, LOG10(COUNT(*)) AS ten FROM visits GROUP BY clinic ORDER BY clinic

SELECT disease, sex, COUNT(*) AS n FROM visits AS v JOIN patients AS p ON v.patient = p.patient GROUP BY ROLLUP (disease, sex) ORDER BY disease, sex

SELECT disease, days > 15 AS late, COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE days IS NOT NULL GROUP BY CUBE (disease, late) ORDER BY disease, late

SELECT disease, clinic, COUNT(*) AS n, GROUPING(disease) AS g FROM visits GROUP BY GROUPING SETS ((disease), (clinic), ()) ORDER BY disease, clinic

SELECT clinic, disease, COUNT(*) AS n FROM visits GROUP BY clinic, ROLLUP (disease) ORDER BY clinic, disease

SELECT DISTINCT COUNT(*) > 20 AS many FROM visits GROUP BY clinic ORDER BY many

SELECT DISTINCT ON (disease) disease, clinic, COUNT(*) AS n FROM visits GROUP BY disease, clinic ORDER BY disease, n DESC, clinic

SELECT * FROM (SELECT disease, clinic, COUNT(*) AS n FROM visits GROUP BY disease, clinic) PIVOT (SUM(n) FOR disease IN ('Flu', 'Gout')) ORDER BY clinic

SELECT c.region, SUM(a.n) AS n FROM clinics AS c JOIN (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) AS a ON a.clinic = c.id GROUP BY c.region ORDER BY c.region

SELECT region, COUNT(*) AS n, MIN(id) AS least FROM clinics GROUP BY region ORDER BY region

SELECT * FROM clinics WHERE id > 4 ORDER BY id

SELECT clinic, UPPER(disease) || '/' || CAST(clinic AS VARCHAR) AS name, COUNT(*) AS n FROM visits GROUP BY clinic, disease ORDER BY name

SELECT clinic FROM visits GROUP BY clinic HAVING COUNT(*) > (SELECT COUNT(*) / 9 FROM visits) ORDER BY clinic

SELECT clinic, n FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) AS t WHERE n IN (SELECT MAX(n) FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) AS u) ORDER BY clinic

SELECT clinic, n, CASE WHEN n > AVG(n) OVER () THEN 'more' ELSE 'less' END AS side FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) ORDER BY clinic

SELECT t.clinic, t.n, u.more FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) AS t, LATERAL (SELECT t.n + 1 AS more) AS u ORDER BY t.clinic

SELECT price * 3 = 0.3 * 5 AS k, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1

SELECT price, price * 3 AS x, COUNT(*) AS n FROM orders GROUP BY price HAVING price > 0.5 ORDER BY price

SELECT YEAR(born) // 10 * 10 AS decade, COUNT(*) AS n FROM people GROUP BY YEAR(born) HAVING COUNT(*) > 0 ORDER BY YEAR(born)

SELECT DATE_TRUNC('year', seen) AS y, COUNT(*) AS n, DATE_TRUNC('year', seen) + INTERVAL 1 YEAR AS next FROM people GROUP BY 1 ORDER BY 1

SELECT MEDIAN(n) AS m, QUANTILE_CONT(n, 0.9) AS q, STDDEV(n) AS s, COUNT(DISTINCT n) AS d, STRING_AGG(disease, ',' ORDER BY disease) AS t FROM (SELECT disease, COUNT(*) AS n FROM visits GROUP BY disease)

SELECT COUNT(*) AS n, x FROM (SELECT clinic, COUNT(*) AS n, 1 AS x FROM visits GROUP BY clinic) AS t, (VALUES (1), (2)) AS v(y) WHERE n > y GROUP BY x

SELECT t.i, COALESCE(a.n, 0) AS n FROM range(12) AS t(i) LEFT JOIN (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) AS a ON a.clinic = t.i ORDER BY t.i

SELECT * EXCLUDE (n), n + 1 AS n FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) ORDER BY clinic

SELECT DISTINCT sex FROM people ORDER BY sex

SELECT sex FROM people GROUP BY sex ORDER BY sex

SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM people WHERE FALSE GROUP BY sex

SELECT COUNT(*) AS n, AVG(age) AS a FROM people WHERE 1 = 0

SELECT * FROM (SELECT sex, COUNT(*) AS n, AVG(height) AS h FROM people GROUP BY sex) AS t LIMIT 0

SELECT age, sex, born FROM people LIMIT 0

SELECT * FROM (SELECT age, sex, 1 AS name FROM people) AS t WHERE 1 = 0
