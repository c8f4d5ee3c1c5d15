-- A notebook of one afternoon over `census`, as an analyst writes SQL by hand and through psycopg.

SELECT * FROM census WHERE 1 = 0;
SELECT * FROM census LIMIT 0;
SELECT DISTINCT workclass FROM census;
SELECT DISTINCT education FROM census ORDER BY 1;
SELECT count(*) FROM census;
SELECT COUNT(*) AS n FROM census;
SELECT COUNT(1) AS n FROM census;

-- who is in the survey
SELECT sex, COUNT(*) AS n FROM census GROUP BY sex;
SELECT sex, count(*) AS n FROM census GROUP BY sex ORDER BY n DESC;
SELECT c.sex, COUNT(*) AS people FROM census c GROUP BY c.sex ORDER BY people;
SELECT COUNT(*) AS n, sex FROM census GROUP BY sex;
SELECT race, COUNT(*) AS n FROM census GROUP BY race ORDER BY n DESC;
SELECT sex, race, COUNT(*) AS n FROM census GROUP BY sex, race ORDER BY sex, n DESC;
SELECT race, sex, COUNT(*) AS n FROM census GROUP BY race, sex ORDER BY race, sex;
SELECT workclass, COUNT(*) AS n FROM census GROUP BY workclass ORDER BY n DESC;
SELECT workclass, COUNT(*) AS n FROM census GROUP BY workclass ORDER BY n DESC LIMIT 3;
SELECT workclass, COUNT(*) AS n FROM census GROUP BY workclass ORDER BY n LIMIT 3;
SELECT education, COUNT(*) AS n FROM census GROUP BY education ORDER BY n DESC LIMIT 5;
SELECT education, COUNT(*) AS n FROM census GROUP BY education ORDER BY n DESC LIMIT 10;
SELECT education_num, COUNT(*) AS n FROM census GROUP BY education_num ORDER BY education_num;
SELECT marital_status, COUNT(*) AS n FROM census GROUP BY marital_status;
SELECT occupation, COUNT(*) AS n FROM census GROUP BY occupation ORDER BY n DESC;
SELECT native_country, COUNT(*) AS n FROM census GROUP BY native_country ORDER BY n DESC LIMIT 10;
SELECT native_country, COUNT(*) AS n FROM census WHERE native_country <> 'United-States' GROUP BY native_country ORDER BY n DESC LIMIT 10;

-- age
SELECT AVG(age) AS mean_age FROM census;
SELECT MEDIAN(age) AS median_age FROM census;
SELECT age, COUNT(*) AS n FROM census GROUP BY age ORDER BY age;
SELECT age // 10 * 10 AS decade, COUNT(*) AS n FROM census GROUP BY decade ORDER BY decade;
SELECT age // 5 * 5 AS bin, COUNT(*) AS n FROM census GROUP BY bin ORDER BY bin;
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM census GROUP BY 1 ORDER BY 1;
SELECT COUNT(*) AS n FROM census WHERE age BETWEEN 25 AND 34;
SELECT COUNT(*) AS n FROM census WHERE age >= 25 AND age <= 34;
SELECT COUNT(*) AS n FROM census WHERE age < 30;
SELECT COUNT(*) AS n FROM census WHERE age >= 30;
SELECT sex, AVG(age) AS mean_age, COUNT(*) AS n FROM census GROUP BY sex;
SELECT sex, STDDEV(age) AS spread FROM census GROUP BY sex;

-- hours
SELECT AVG(hours_per_week) AS hours FROM census;
SELECT workclass, AVG(hours_per_week) AS hours FROM census GROUP BY workclass;
SELECT workclass, AVG(hours_per_week) AS hours FROM census GROUP BY workclass ORDER BY hours DESC;
SELECT workclass, AVG(hours_per_week) AS hours, COUNT(*) AS n FROM census GROUP BY workclass ORDER BY hours DESC;
SELECT workclass, SUM(hours_per_week) AS total, COUNT(*) AS n, AVG(hours_per_week) AS hours FROM census GROUP BY workclass ORDER BY hours DESC;
SELECT workclass, SUM(hours_per_week) * 1.0 / COUNT(*) AS hours FROM census GROUP BY workclass;
SELECT workclass, AVG(hours_per_week) AS hours FROM census GROUP BY workclass HAVING COUNT(*) > 1000 ORDER BY hours DESC;
SELECT workclass, AVG(hours_per_week) AS hours FROM census WHERE workclass <> '?' GROUP BY workclass ORDER BY hours DESC;
SELECT sex, workclass, AVG(hours_per_week) AS hours FROM census GROUP BY sex, workclass ORDER BY workclass, sex;
SELECT COUNT(*) AS overtime FROM census WHERE hours_per_week > 40;
SELECT workclass, COUNT(*) AS overtime FROM census WHERE hours_per_week > 40 GROUP BY workclass ORDER BY overtime DESC;
SELECT o.workclass, o.n AS overtime, a.n AS everyone, 100.0 * o.n / a.n AS percent FROM (SELECT workclass, COUNT(*) AS n FROM census WHERE hours_per_week > 40 GROUP BY workclass) AS o JOIN (SELECT workclass, COUNT(*) AS n FROM census GROUP BY workclass) AS a ON o.workclass = a.workclass ORDER BY percent DESC;
SELECT workclass, 100.0 * SUM(CASE WHEN hours_per_week > 40 THEN 1 ELSE 0 END) / COUNT(*) AS percent FROM census GROUP BY workclass ORDER BY percent DESC;
SELECT COUNT(*) AS older_than_mean FROM census WHERE age > (SELECT AVG(age) FROM census);

-- income
SELECT income, COUNT(*) AS n FROM census GROUP BY income;
SELECT COUNT(*) AS rich FROM census WHERE income = '>50K';
SELECT 100.0 * COUNT(*) / (SELECT COUNT(*) FROM census) AS percent FROM census WHERE income = '>50K';
SELECT sex, income, COUNT(*) AS n FROM census GROUP BY sex, income ORDER BY sex, income;
SELECT sex, income, n, 100.0 * n / SUM(n) OVER (PARTITION BY sex) AS percent FROM (SELECT sex, income, COUNT(*) AS n FROM census GROUP BY sex, income) AS t ORDER BY sex, income;
SELECT education, income, COUNT(*) AS n FROM census GROUP BY education, income ORDER BY education, income;
SELECT education, n, rich, 100.0 * rich / n AS percent FROM (SELECT education, COUNT(*) AS n, COUNT(*) FILTER (WHERE income = '>50K') AS rich FROM census GROUP BY education) AS t ORDER BY percent DESC;
SELECT education, COUNT(*) AS rich FROM census WHERE income = '>50K' GROUP BY education ORDER BY rich DESC LIMIT 5;
SELECT education, COUNT(*) AS rich FROM census WHERE income = '>50K' GROUP BY education ORDER BY rich DESC LIMIT 10;
SELECT education, COUNT(*) AS rich FROM census WHERE '>50K' = income GROUP BY education ORDER BY education;
SELECT education, COUNT(*) AS rich FROM census WHERE income = '>50K' AND sex = 'Female' GROUP BY education ORDER BY rich DESC LIMIT 5;
SELECT education, COUNT(*) AS rich FROM census WHERE sex = 'Female' AND income = '>50K' GROUP BY education ORDER BY rich DESC LIMIT 5;
SELECT occupation, income, COUNT(*) AS n FROM census GROUP BY occupation, income;
SELECT occupation, SUM(n) AS n FROM (SELECT occupation, income, COUNT(*) AS n FROM census GROUP BY occupation, income) AS t GROUP BY occupation ORDER BY n DESC;
SELECT occupation, COUNT(*) AS n FROM census WHERE income = '>50K' GROUP BY occupation HAVING COUNT(*) > 500 ORDER BY n DESC;
SELECT age // 10 * 10 AS decade, income, COUNT(*) AS n FROM census GROUP BY decade, income ORDER BY decade, income;
SELECT decade, rich, SUM(rich) OVER (ORDER BY decade) AS running FROM (SELECT age // 10 * 10 AS decade, COUNT(*) AS rich FROM census WHERE income = '>50K' GROUP BY 1) AS t ORDER BY decade;
SELECT income, AVG(hours_per_week) AS hours FROM census GROUP BY income;
SELECT income, AVG(hours_per_week) AS hours, AVG(age) AS age FROM census GROUP BY income;
SELECT income, AVG(hours_per_week) AS hours, AVG(age) AS age, AVG(education_num) AS schooling FROM census GROUP BY income;

-- a draft of the table for the report, and its versions
SELECT sex, education, COUNT(*) AS n FROM census GROUP BY sex, education ORDER BY n DESC LIMIT 20;
SELECT sex, education, COUNT(*) AS n FROM census GROUP BY sex, education ORDER BY n DESC LIMIT 30;
SELECT sex AS "Sex", education AS "Education", COUNT(*) AS "People" FROM census GROUP BY sex, education ORDER BY "People" DESC LIMIT 30;
SELECT education, SUM(n) AS n FROM (SELECT sex, education, COUNT(*) AS n FROM census GROUP BY sex, education) AS t GROUP BY education ORDER BY n DESC;
SELECT sex, education, COUNT(*) AS n FROM census GROUP BY ROLLUP (sex, education) ORDER BY sex, education;
SELECT sex, education, COUNT(*) AS n FROM census GROUP BY GROUPING SETS ((sex), (education), ());
WITH by_school AS (SELECT education, COUNT(*) AS n FROM census GROUP BY education) SELECT education, n, LN(n) AS log_n FROM by_school ORDER BY n DESC;
WITH by_school AS (SELECT education, COUNT(*) AS n FROM census GROUP BY education) SELECT education, n, NTILE(4) OVER (ORDER BY n) AS quartile FROM by_school ORDER BY n DESC;
SELECT 'women' AS who, AVG(hours_per_week) AS hours FROM census WHERE sex = 'Female' UNION ALL SELECT 'men' AS who, AVG(hours_per_week) AS hours FROM census WHERE sex = 'Male';
SELECT sex, AVG(hours_per_week) AS hours FROM census GROUP BY sex;
SELECT marital_status, sex, COUNT(*) AS n FROM census WHERE age >= 30 GROUP BY marital_status, sex ORDER BY n DESC;
SELECT marital_status, sex, COUNT(*) AS n FROM census WHERE age >= 30 GROUP BY marital_status, sex ORDER BY marital_status, sex;
SELECT marital_status, AVG(hours_per_week) AS hours FROM census WHERE age >= 30 GROUP BY marital_status;
SELECT COUNT(*) AS n FROM census WHERE native_country = 'Mexico' AND education = 'Bachelors';
SELECT race, AVG(education_num) AS schooling FROM census GROUP BY race ORDER BY schooling DESC;
SELECT QUANTILE_CONT(hours_per_week, 0.9) AS p90 FROM census;

-- run all cells again
SELECT count(*) FROM census;
SELECT sex, COUNT(*) AS n FROM census GROUP BY sex;
SELECT race, COUNT(*) AS n FROM census GROUP BY race ORDER BY n DESC;
SELECT workclass, COUNT(*) AS n FROM census GROUP BY workclass ORDER BY n DESC;
SELECT AVG(age) AS mean_age FROM census;
SELECT AVG(hours_per_week) AS hours FROM census;
SELECT workclass, AVG(hours_per_week) AS hours, COUNT(*) AS n FROM census GROUP BY workclass ORDER BY hours DESC;
SELECT income, COUNT(*) AS n FROM census GROUP BY income;
SELECT sex, income, COUNT(*) AS n FROM census GROUP BY sex, income ORDER BY sex, income;
