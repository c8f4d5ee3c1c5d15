-- A hospital's dashboard, built and then used in Superset and Metabase over `hospital`.

-- the tools look at the table before anybody asks anything
SELECT * FROM hospital LIMIT 0;
SELECT admitted, age, sex, zipcode, disease, days, cost FROM hospital WHERE FALSE;
SELECT * FROM (SELECT disease, COUNT(*) AS n FROM hospital GROUP BY disease) AS virtual_table LIMIT 0;
SELECT DISTINCT sex FROM hospital ORDER BY sex;
SELECT disease FROM hospital GROUP BY disease LIMIT 1000;
SELECT COUNT(*) FROM hospital;

-- tiles of the dashboard
SELECT COUNT(*) AS "Visits" FROM hospital;
SELECT COUNT(DISTINCT person_id) AS "Patients" FROM hospital;
SELECT SUM(cost) AS "Total cost" FROM hospital;
SELECT AVG(cost) AS "Cost per visit" FROM hospital;
SELECT AVG(days) AS "Length of stay" FROM hospital;
SELECT disease AS disease, COUNT(*) AS count FROM hospital GROUP BY disease ORDER BY count DESC LIMIT 10;
SELECT disease AS disease, COUNT(*) AS count FROM hospital GROUP BY disease ORDER BY count DESC LIMIT 25;
SELECT disease AS disease, COUNT(*) AS count FROM hospital GROUP BY disease ORDER BY disease ASC LIMIT 25;
SELECT disease AS "Diagnosis", COUNT(*) AS "Visits" FROM hospital GROUP BY disease ORDER BY "Visits" DESC LIMIT 10;
SELECT date_trunc('month', admitted) AS month, COUNT(*) AS count FROM hospital GROUP BY date_trunc('month', admitted) ORDER BY month;
SELECT date_trunc('month', admitted) AS __timestamp, COUNT(*) AS count FROM hospital GROUP BY date_trunc('month', admitted) ORDER BY count DESC LIMIT 1000;
SELECT sex AS sex, COUNT(*) AS count FROM hospital GROUP BY sex ORDER BY count DESC LIMIT 100;

-- Superset's wrapper around a saved query
SELECT disease AS disease, SUM(visits) AS visits FROM (SELECT disease, sex, COUNT(*) AS visits FROM hospital GROUP BY disease, sex) AS virtual_table GROUP BY disease ORDER BY visits DESC LIMIT 1000;
SELECT sex AS sex, SUM(visits) AS visits FROM (SELECT disease, sex, COUNT(*) AS visits FROM hospital GROUP BY disease, sex) AS virtual_table GROUP BY sex ORDER BY visits DESC LIMIT 1000;
SELECT disease AS disease, sex AS sex, visits AS visits FROM (SELECT disease, sex, COUNT(*) AS visits FROM hospital GROUP BY disease, sex) AS virtual_table LIMIT 1000;
SELECT * FROM (SELECT disease, sex, COUNT(*) AS visits FROM hospital GROUP BY disease, sex) AS virtual_table LIMIT 100;

-- Metabase: the same table through its question editor, page by page
SELECT "source"."disease" AS "disease", COUNT(*) AS "count" FROM "hospital" AS "source" GROUP BY "source"."disease" ORDER BY "source"."disease" ASC;
SELECT "source"."disease" AS "disease", COUNT(*) AS "count" FROM "hospital" AS "source" GROUP BY "source"."disease" ORDER BY "count" DESC, "source"."disease" ASC LIMIT 5;
SELECT "source"."disease" AS "disease", COUNT(*) AS "count" FROM "hospital" AS "source" GROUP BY "source"."disease" ORDER BY "count" DESC, "source"."disease" ASC LIMIT 5 OFFSET 5;
SELECT "source"."disease" AS "disease", COUNT(*) AS "count" FROM "hospital" AS "source" GROUP BY "source"."disease" ORDER BY "count" DESC, "source"."disease" ASC LIMIT 5 OFFSET 10;
SELECT "source"."disease" AS "disease", COUNT(*) AS "count", SUM("source"."cost") AS "sum" FROM "hospital" AS "source" GROUP BY "source"."disease" ORDER BY "count" DESC LIMIT 10;
SELECT "source"."disease" AS "disease", COUNT(*) AS "count", SUM("source"."cost") AS "sum", AVG("source"."cost") AS "avg" FROM "hospital" AS "source" GROUP BY "source"."disease" ORDER BY "sum" DESC LIMIT 10;
SELECT "source"."disease" AS "disease", "source"."count" AS "count" FROM (SELECT "hospital"."disease" AS "disease", COUNT(*) AS "count" FROM "hospital" GROUP BY "hospital"."disease") AS "source" WHERE "source"."count" > 500 ORDER BY "source"."disease" ASC;

-- filters of the dashboard: a click on a bar filters every tile
SELECT COUNT(*) AS "Visits" FROM hospital WHERE disease = 'Flu';
SELECT COUNT(*) AS "Visits" FROM hospital WHERE disease IN ('Flu');
SELECT date_trunc('month', admitted) AS month, COUNT(*) AS count FROM hospital WHERE disease = 'Flu' GROUP BY date_trunc('month', admitted) ORDER BY month;
SELECT sex AS sex, COUNT(*) AS count FROM hospital WHERE disease = 'Flu' GROUP BY sex;
SELECT AVG(cost) AS "Cost per visit" FROM hospital WHERE disease = 'Flu';
SELECT COUNT(*) AS "Visits" FROM hospital WHERE disease IN ('Flu', 'Pneumonia');
SELECT date_trunc('month', admitted) AS month, COUNT(*) AS count FROM hospital WHERE disease IN ('Flu', 'Pneumonia') GROUP BY date_trunc('month', admitted) ORDER BY month;
SELECT date_trunc('month', admitted) AS month, COUNT(*) AS count FROM hospital WHERE disease IN ('Pneumonia', 'Flu') GROUP BY 1 ORDER BY 1;
SELECT disease AS disease, COUNT(*) AS count FROM hospital WHERE sex = 'Female' GROUP BY disease ORDER BY count DESC LIMIT 10;
SELECT disease AS disease, COUNT(*) AS count FROM hospital WHERE sex = 'Male' GROUP BY disease ORDER BY count DESC LIMIT 10;
SELECT disease AS disease, COUNT(*) AS count FROM hospital WHERE (sex = 'Female') GROUP BY disease ORDER BY count DESC LIMIT 25;

-- time range: the whole year, a quarter, two quarters beside each other, by day
SELECT COUNT(*) AS "Visits" FROM hospital WHERE admitted >= DATE '2023-01-01' AND admitted < DATE '2024-01-01';
SELECT COUNT(*) AS "Visits" FROM hospital WHERE admitted >= DATE '2023-01-01' AND admitted < DATE '2023-04-01';
SELECT COUNT(*) AS "Visits" FROM hospital WHERE admitted < DATE '2023-04-01' AND admitted >= DATE '2023-01-01';
SELECT COUNT(*) AS "Visits" FROM hospital WHERE admitted >= DATE '2023-04-01' AND admitted < DATE '2023-07-01';
SELECT date_trunc('quarter', admitted) AS quarter, COUNT(*) AS count FROM hospital GROUP BY date_trunc('quarter', admitted) ORDER BY quarter;
SELECT date_trunc('day', admitted) AS day, COUNT(*) AS count FROM hospital GROUP BY date_trunc('day', admitted) ORDER BY day;
SELECT date_trunc('week', admitted) AS week, COUNT(*) AS count FROM hospital GROUP BY date_trunc('week', admitted) ORDER BY week;
SELECT date_trunc('day', admitted) AS day, COUNT(*) AS count FROM hospital WHERE admitted >= DATE '2023-12-01' AND admitted < DATE '2024-01-01' GROUP BY date_trunc('day', admitted) ORDER BY day;
SELECT month, n, n - LAG(n) OVER (ORDER BY month) AS change FROM (SELECT date_trunc('month', admitted) AS month, COUNT(*) AS n FROM hospital GROUP BY 1) AS by_month ORDER BY month;
SELECT month, SUM(n) OVER (ORDER BY month) AS running FROM (SELECT date_trunc('month', admitted) AS month, COUNT(*) AS n FROM hospital GROUP BY 1) AS by_month ORDER BY month;
SELECT month, AVG(n) OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS rolling FROM (SELECT date_trunc('month', admitted) AS month, COUNT(*) AS n FROM hospital GROUP BY 1) AS by_month ORDER BY month;
SELECT 'Q1' AS period, COUNT(*) AS n FROM hospital WHERE admitted < DATE '2023-04-01' UNION ALL SELECT 'Q4' AS period, COUNT(*) AS n FROM hospital WHERE admitted >= DATE '2023-10-01';
SELECT a.disease, a.n AS winter, b.n AS summer, 1.0 * a.n / b.n AS ratio FROM (SELECT disease, COUNT(*) AS n FROM hospital WHERE admitted < DATE '2023-04-01' GROUP BY disease) AS a JOIN (SELECT disease, COUNT(*) AS n FROM hospital WHERE admitted >= DATE '2023-07-01' AND admitted < DATE '2023-10-01' GROUP BY disease) AS b ON a.disease = b.disease ORDER BY ratio DESC;

-- the morning refresh: every tile as it was saved
SELECT COUNT(*) AS "Visits" FROM hospital;
SELECT COUNT(DISTINCT person_id) AS "Patients" FROM hospital;
SELECT SUM(cost) AS "Total cost" FROM hospital;
SELECT AVG(cost) AS "Cost per visit" FROM hospital;
SELECT AVG(days) AS "Length of stay" FROM hospital;
SELECT disease AS disease, COUNT(*) AS count FROM hospital GROUP BY disease ORDER BY count DESC LIMIT 10;
SELECT date_trunc('month', admitted) AS __timestamp, COUNT(*) AS count FROM hospital GROUP BY date_trunc('month', admitted) ORDER BY count DESC LIMIT 1000;
SELECT sex AS sex, COUNT(*) AS count FROM hospital GROUP BY sex ORDER BY count DESC LIMIT 100;

-- percent of total, in three ways that tools write it
SELECT disease, n, 100.0 * n / SUM(n) OVER () AS percent FROM (SELECT disease, COUNT(*) AS n FROM hospital GROUP BY disease) AS t ORDER BY percent DESC;
SELECT disease, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM hospital) AS percent FROM hospital GROUP BY disease ORDER BY percent DESC;
SELECT disease, sex, 100.0 * n / SUM(n) OVER (PARTITION BY disease) AS percent_in_disease FROM (SELECT disease, sex, COUNT(*) AS n FROM hospital GROUP BY disease, sex) AS t ORDER BY disease, sex;
SELECT disease, n, RANK() OVER (ORDER BY n DESC) AS place FROM (SELECT disease, COUNT(*) AS n FROM hospital GROUP BY disease) AS t ORDER BY place LIMIT 10;
SELECT disease, SUM(cost) AS total, 100.0 * SUM(cost) / SUM(SUM(cost)) OVER () AS percent FROM hospital GROUP BY disease ORDER BY total DESC;
SELECT disease, COUNT(*) AS n FROM hospital GROUP BY disease QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 3;

-- a pivot table with totals
SELECT sex, date_trunc('month', admitted) AS month, COUNT(*) AS n FROM hospital GROUP BY sex, date_trunc('month', admitted) ORDER BY month, sex;
SELECT sex, date_trunc('month', admitted) AS month, COUNT(*) AS n FROM hospital GROUP BY ROLLUP (sex, date_trunc('month', admitted));
SELECT disease, sex, COUNT(*) AS n FROM hospital GROUP BY CUBE (disease, sex);
SELECT disease, COUNT(*) FILTER (WHERE sex = 'Female') AS women, COUNT(*) FILTER (WHERE sex = 'Male') AS men FROM hospital GROUP BY disease ORDER BY disease;
SELECT disease, SUM(CASE WHEN sex = 'Female' THEN 1 ELSE 0 END) AS women, SUM(CASE WHEN sex = 'Male' THEN 1 ELSE 0 END) AS men FROM hospital GROUP BY disease ORDER BY disease;

-- drill into cost and stays
SELECT disease, SUM(cost) AS cost FROM hospital GROUP BY disease ORDER BY cost DESC LIMIT 5;
SELECT disease, SUM(cost) / COUNT(*) AS per_visit FROM hospital GROUP BY disease ORDER BY per_visit DESC LIMIT 5;
SELECT disease, AVG(days) AS stay FROM hospital GROUP BY disease HAVING COUNT(*) > 1000 ORDER BY stay DESC;
SELECT disease, AVG(days) AS stay, COUNT(*) AS n FROM hospital GROUP BY disease HAVING COUNT(*) > 2000 ORDER BY stay DESC;
SELECT disease, COUNT(*) AS n FROM hospital GROUP BY disease HAVING COUNT(*) BETWEEN 500 AND 1500;
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS band, COUNT(*) AS n, AVG(cost) AS cost FROM hospital GROUP BY 1 ORDER BY n DESC;
SELECT age // 10 * 10 AS decade, COUNT(*) AS n FROM hospital GROUP BY age // 10 * 10 ORDER BY decade;
SELECT COUNT(*) AS seniors FROM hospital WHERE age >= 65;
SELECT COUNT(*) AS long_stays FROM hospital WHERE days > 14;
SELECT disease, COUNT(*) AS n FROM hospital WHERE days > 14 GROUP BY disease ORDER BY n DESC LIMIT 10;
SELECT MEDIAN(cost) AS median_cost FROM hospital;
SELECT MAX(n) AS busiest FROM (SELECT date_trunc('month', admitted) AS month, COUNT(*) AS n FROM hospital GROUP BY 1) AS t;

-- places
SELECT zipcode, COUNT(*) AS n FROM hospital GROUP BY zipcode ORDER BY n DESC LIMIT 20;
SELECT zipcode, COUNT(*) AS n FROM hospital GROUP BY zipcode ORDER BY n DESC LIMIT 20 OFFSET 20;
SELECT zipcode, COUNT(*) AS n FROM hospital GROUP BY zipcode HAVING COUNT(*) >= 1000 ORDER BY zipcode;
SELECT COUNT(*) AS n FROM hospital WHERE zipcode = '13040';
SELECT COUNT(*) AS n FROM hospital WHERE zipcode = '13040' AND disease = 'Flu';
SELECT COUNT(*) AS n FROM hospital AS h WHERE h.disease = 'Flu' AND h.zipcode = '13040';
SELECT SUBSTR(zipcode, 1, 3) AS place, COUNT(*) AS n FROM hospital GROUP BY SUBSTR(zipcode, 1, 3) ORDER BY n DESC;

-- the last refresh of the day
SELECT COUNT(*) AS "Visits" FROM hospital;
SELECT AVG(cost) AS "Cost per visit" FROM hospital;
SELECT disease AS disease, COUNT(*) AS count FROM hospital GROUP BY disease ORDER BY count DESC LIMIT 10;
SELECT date_trunc('month', admitted) AS month, COUNT(*) AS count FROM hospital GROUP BY date_trunc('month', admitted) ORDER BY month;
