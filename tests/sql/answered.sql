SELECT COUNT(*) AS n FROM people

SELECT COUNT(height) AS n, COUNT(DISTINCT age) AS d, COUNT(DISTINCT city) AS c FROM people

SELECT SUM(age) AS s, AVG(age) AS a, SUM(height) AS h, AVG(height) AS b FROM people

SELECT sex, COUNT(*) AS n, AVG(height) AS h FROM people GROUP BY sex ORDER BY sex

SELECT sex, COUNT(*) AS n FROM people GROUP BY 1 ORDER BY n DESC LIMIT 1

SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM people GROUP BY decade ORDER BY 1

SELECT sex, smoker, COUNT(*) AS n FROM people GROUP BY ALL ORDER BY sex, smoker

SELECT smoker, COUNT(*) AS n FROM people GROUP BY smoker HAVING COUNT(*) > 50 ORDER BY n

SELECT VAR_POP(height) AS v, VARIANCE(height) AS w, STDDEV(height) AS s, STDDEV_POP(height) AS t FROM people

SELECT COUNT(*) FILTER (WHERE smoker) AS a, SUM(age) FILTER (WHERE sex = 'f') AS b FROM people

SELECT SUM(age) / COUNT(*) AS r, COUNT(height) * 1.0 / COUNT(*) AS q FROM people

SELECT COUNT(*) AS n FROM people WHERE age BETWEEN 20 AND 40 AND NOT smoker

SELECT COUNT(*) AS n FROM people WHERE age NOT BETWEEN 20 AND 40 OR smoker IS NULL

SELECT COUNT(*) AS n FROM people WHERE city LIKE '%l%'

SELECT COUNT(*) AS n FROM people WHERE city NOT LIKE '%l%'

SELECT COUNT(*) AS n FROM people WHERE city LIKE 'a_b' AND city NOT LIKE 'a\b'

SELECT COUNT(*) AS n FROM people WHERE city IN ('Ulm', 'Köln', 'nowhere')

SELECT COUNT(*) AS n FROM people WHERE city NOT IN ('Ulm', 'Köln')

SELECT COUNT(*) AS n FROM people WHERE LOWER(city) = 'ulm' AND UPPER(city) = 'ULM' AND LENGTH(city) = 3

SELECT COUNT(*) AS n FROM people WHERE SUBSTR(city, 2, 1) = 'l' OR SUBSTR(city, -1) = 'n'

SELECT COUNT(*) AS n FROM people WHERE trade = 'O''Neil'

SELECT COUNT(*) AS n FROM people WHERE COALESCE(smoker, FALSE) = FALSE AND NULLIF(age, 0) IS NOT NULL

SELECT COUNT(*) AS n FROM people WHERE born >= '1950-06-01' AND born < DATE '1990-01-01'

SELECT COUNT(*) AS n FROM people WHERE seen >= TIMESTAMP '2020-06-01 12:30:00' AND seen < DATE '2021-01-01'

SELECT COUNT(*) AS n FROM people WHERE YEAR(born) = 1970 OR EXTRACT(month FROM born) = 5 OR DAY(born) = 3

SELECT MONTH(born) AS m, COUNT(*) AS n FROM people GROUP BY m ORDER BY m

SELECT DATE_TRUNC('year', born) AS y, COUNT(*) AS n FROM people GROUP BY y HAVING COUNT(*) > 0 ORDER BY y

SELECT CASE WHEN age < 18 THEN 'young' WHEN age < 65 THEN 'grown' ELSE 'old' END AS k, COUNT(*) AS n FROM people
 GROUP BY k ORDER BY k

SELECT CASE sex WHEN 'f' THEN 1 ELSE 0 END AS k, SUM(age) AS s FROM people GROUP BY 1 ORDER BY 1

SELECT SUM(LEAST(GREATEST(income, 0), 1000)) AS s, SUM(ABS(age - 60)) AS a, SUM(age % 7) AS m FROM people

SELECT SUM(ROUND(height, 1)) AS r, SUM(CEIL(height)) AS c, SUM(CAST(smoker AS INTEGER)) AS k FROM people

SELECT COUNT(*) AS n FROM people WHERE TRY_CAST(city AS INTEGER) IS NULL

SELECT COUNT(*) AS n FROM people WHERE weight / NULLIF(age - 50, 0) > 1.5

SELECT COUNT(*) AS n, COUNT(DISTINCT patient) AS p, SUM(cost) AS s FROM visits

SELECT disease, COUNT(*) AS n, COUNT(DISTINCT patient) AS p FROM visits GROUP BY disease ORDER BY disease

SELECT AVG(total) AS a, SUM(total) AS s, COUNT(*) AS n FROM (SELECT patient, SUM(cost) AS total FROM visits
 GROUP BY patient)

SELECT COUNT(*) AS people, SUM(n) AS s FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) WHERE n > 1

SELECT SUM(hi - lo) AS s FROM (SELECT patient, MAX(cost) AS hi, MIN(cost) AS lo FROM visits WHERE days > 3
 GROUP BY patient)

SELECT p.sex, COUNT(*) AS n, AVG(v.cost) AS a FROM visits v JOIN patients p ON v.patient = p.patient GROUP BY p.sex
 ORDER BY p.sex

SELECT COUNT(*) AS n, COUNT(v.cost) AS c FROM patients p LEFT JOIN visits v ON v.patient = p.patient

SELECT COUNT(*) AS n FROM visits JOIN patients USING (patient) WHERE age > 40

SELECT c.region, COUNT(*) AS n, SUM(v.cost) AS s FROM visits v JOIN clinics c ON v.clinic = c.id GROUP BY c.region
 ORDER BY c.region

SELECT a.disease, COUNT(*) AS n FROM visits a JOIN visits b ON a.patient = b.patient WHERE b.disease = 'Flu'
 GROUP BY a.disease ORDER BY 1

SELECT shop, COUNT(*) AS n, SUM(price) AS s FROM orders GROUP BY shop ORDER BY shop

WITH a AS (SELECT sex, age * 2 AS b FROM people), c AS (SELECT b FROM a WHERE sex = 'f') SELECT SUM(b) AS s FROM c

SELECT "Order", SUM("select" + "two words" - "a.b") AS s FROM odd WHERE "from-to" GROUP BY "Order" ORDER BY s, 1

SELECT COUNT(*) AS "it's ""n""" FROM odd WHERE "Order" = 'it''s' OR "Order" = 'say "hi"' OR "ORDER" = 'a\b'

SELECT SeX AS Sex, Count(*) AS N FROM People AS P WHERE p.AGE > 30 GROUP BY P.sex ORDER BY n

SELECT COUNT(*) AS m1, SUM(age) AS m0 FROM people GROUP BY sex ORDER BY COUNT(*)

SELECT COUNT(age) AS n, COUNT(*) AS rows, AVG(age) AS a, COUNT(height) AS h FROM patients JOIN (SELECT patient, MAX(days) AS height FROM visits GROUP BY patient) AS v ON patients.patient = v.patient

SELECT COUNT(p.age) AS n, COUNT(*) AS rows, AVG(p.age) AS a FROM visits AS v LEFT JOIN patients AS p ON v.patient = p.patient

SELECT article, COUNT(*) AS n, SUM(pieces) AS s FROM items GROUP BY article ORDER BY article DESC

SELECT shop, COUNT(*) AS n, SUM(pieces) AS s, SUM(price) AS p FROM items i JOIN orders o ON i."order" = o.id GROUP BY shop ORDER BY shop

SELECT COUNT(*) AS n, COUNT(pieces) AS m, SUM(price) AS p FROM orders o LEFT JOIN items i ON o.id = i."order"

SELECT COUNT(DISTINCT customer) AS n FROM orders o JOIN items i ON o.id = i."order" AND i.pieces > 3

SELECT n, COUNT(*) AS people, SUM(most) AS s FROM (SELECT customer, COUNT(*) AS n, MAX(pieces) - MIN(pieces) AS most FROM items i JOIN orders o ON i."order" = o.id GROUP BY customer HAVING n > 1) GROUP BY n HAVING COUNT(*) > 0 ORDER BY n

SELECT disease, COUNT(*) AS n, SUM(mean) AS s FROM (SELECT patient, disease, SUM(cost) / COUNT(*) AS mean, COUNT(DISTINCT clinic) AS c FROM visits GROUP BY patient, disease) WHERE c > 1 GROUP BY disease ORDER BY disease

SELECT region, COUNT(*) AS n FROM clinics c JOIN visits v ON v.clinic = c.id AND v.cost > 100 GROUP BY region ORDER BY region

SELECT income > 500000000 AS rich, COUNT_IF(age > 40) AS n, SUM(1) AS k, SUM(CASE WHEN sex = 'f' THEN 1 END) AS f FROM people GROUP BY rich ORDER BY rich

SELECT income % 7 AS rest, COUNT(*) AS n FROM people WHERE income >= 0 GROUP BY rest HAVING COUNT(*) > 0 ORDER BY rest

SELECT DATE_TRUNC('month', seen) AS month, COUNT(*) AS n FROM people GROUP BY month HAVING COUNT(*) > 0 ORDER BY month

SELECT ROUND(age, -1) AS decade, COUNT(*) AS n FROM people WHERE LEFT(sex, 1) ILIKE 'F' GROUP BY decade HAVING COUNT(*) > 0 ORDER BY decade

SELECT sex, BOOL_OR(age > 60) AS some, BOOL_AND(age > 60) AS every, BOOL_OR(smoker) AS s, BOOL_AND(smoker) AS t FROM people GROUP BY sex ORDER BY sex

SELECT BOOL_OR(age > 500) AS none, BOOL_AND(age < 500) AS every, BOOL_OR(smoker) FILTER (WHERE age > 500) AS nothing, BOOL_AND(NOT smoker) FILTER (WHERE sex = 'f') AS f FROM people

SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING BOOL_OR(age > 10) ORDER BY sex

SELECT COUNT(*) AS n, COUNT_IF(dear) AS d, COUNT_IF(cheap) AS c FROM (SELECT patient, BOOL_OR(cost > 900) AS dear, BOOL_AND(cost < 900) AS cheap FROM visits GROUP BY patient)
