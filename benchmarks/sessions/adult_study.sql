-- A study of income over `adult`: many fresh questions of a researcher, fewer repetitions than a dashboard has.

SELECT * FROM adult LIMIT 0;
SELECT COUNT(*) AS n FROM adult;
SELECT income, COUNT(*) AS n FROM adult GROUP BY income;
SELECT income, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM adult GROUP BY income;

-- one factor at a time
SELECT sex, income, COUNT(*) AS n FROM adult GROUP BY sex, income;
SELECT race, income, COUNT(*) AS n FROM adult GROUP BY race, income;
SELECT marital_status, income, COUNT(*) AS n FROM adult GROUP BY marital_status, income;
SELECT relationship, income, COUNT(*) AS n FROM adult GROUP BY relationship, income;
SELECT workclass, income, COUNT(*) AS n FROM adult GROUP BY workclass, income;
SELECT occupation, income, COUNT(*) AS n FROM adult GROUP BY occupation, income;
SELECT education, income, COUNT(*) AS n FROM adult GROUP BY education, income;
SELECT education_num, income, COUNT(*) AS n FROM adult GROUP BY education_num, income ORDER BY education_num;
SELECT native_country, income, COUNT(*) AS n FROM adult GROUP BY native_country, income;
SELECT age // 10 AS decade, income, COUNT(*) AS n FROM adult GROUP BY decade, income ORDER BY decade;
SELECT hours_per_week // 10 AS tens, income, COUNT(*) AS n FROM adult GROUP BY tens, income ORDER BY tens;

-- margins of what was just seen
SELECT sex, COUNT(*) AS n FROM adult GROUP BY sex;
SELECT race, COUNT(*) AS n FROM adult GROUP BY race;
SELECT marital_status, COUNT(*) AS n FROM adult GROUP BY marital_status;
SELECT occupation, COUNT(*) AS n FROM adult GROUP BY occupation ORDER BY n DESC;
SELECT education, COUNT(*) AS n FROM adult GROUP BY education ORDER BY n DESC;
SELECT COUNT(*) AS n FROM adult WHERE sex = 'Female';
SELECT COUNT(*) AS n FROM adult WHERE sex = 'Female' AND income = '>50K';
SELECT COUNT(*) AS n FROM adult WHERE income = '>50K';

-- rates by factor
SELECT sex, 1.0 * SUM(CASE WHEN income = '>50K' THEN 1 ELSE 0 END) / COUNT(*) AS rate FROM adult GROUP BY sex;
SELECT race, 1.0 * COUNT(*) FILTER (WHERE income = '>50K') / COUNT(*) AS rate FROM adult GROUP BY race;
SELECT education, 1.0 * COUNT(*) FILTER (WHERE income = '>50K') / COUNT(*) AS rate FROM adult GROUP BY education ORDER BY rate DESC;
SELECT education, AVG(CASE WHEN income = '>50K' THEN 1 ELSE 0 END) AS rate FROM adult GROUP BY education ORDER BY rate DESC;
SELECT occupation, AVG(CASE WHEN income = '>50K' THEN 1 ELSE 0 END) AS rate FROM adult GROUP BY occupation ORDER BY rate DESC LIMIT 5;
SELECT occupation, AVG(CASE WHEN income = '>50K' THEN 1 ELSE 0 END) AS rate FROM adult GROUP BY occupation HAVING COUNT(*) >= 500 ORDER BY rate DESC;

-- two factors
SELECT sex, education, income, COUNT(*) AS n FROM adult GROUP BY sex, education, income;
SELECT sex, education, COUNT(*) AS n FROM adult GROUP BY sex, education;
SELECT sex, education, COUNT(*) AS n FROM adult WHERE income = '>50K' GROUP BY sex, education;
SELECT education, COUNT(*) AS n FROM adult WHERE income = '>50K' GROUP BY education ORDER BY n DESC;
SELECT education, COUNT(*) AS n FROM adult WHERE income = '>50K' AND sex = 'Female' GROUP BY education ORDER BY n DESC;
SELECT education, COUNT(*) AS n FROM adult WHERE income = '>50K' AND sex = 'Male' GROUP BY education ORDER BY n DESC;
SELECT sex, occupation, income, COUNT(*) AS n FROM adult GROUP BY sex, occupation, income;
SELECT sex, occupation, COUNT(*) AS n FROM adult GROUP BY sex, occupation ORDER BY occupation, sex;
SELECT occupation, 100.0 * SUM(CASE WHEN sex = 'Female' THEN n ELSE 0 END) / SUM(n) AS women_percent FROM (SELECT sex, occupation, COUNT(*) AS n FROM adult GROUP BY sex, occupation) AS t GROUP BY occupation ORDER BY women_percent DESC;
SELECT sex, marital_status, income, COUNT(*) AS n FROM adult GROUP BY sex, marital_status, income;
SELECT race, sex, income, COUNT(*) AS n FROM adult GROUP BY race, sex, income;
SELECT race, sex, COUNT(*) AS n FROM adult GROUP BY race, sex;
SELECT race, sex, income, COUNT(*) AS n FROM adult GROUP BY CUBE (race, sex, income);
SELECT age // 10 AS decade, sex, income, COUNT(*) AS n FROM adult GROUP BY decade, sex, income ORDER BY decade;

-- hours
SELECT AVG(hours_per_week) AS hours FROM adult;
SELECT income, AVG(hours_per_week) AS hours FROM adult GROUP BY income;
SELECT sex, income, AVG(hours_per_week) AS hours FROM adult GROUP BY sex, income;
SELECT sex, AVG(hours_per_week) AS hours FROM adult GROUP BY sex;
SELECT sex, AVG(hours_per_week) AS hours, VARIANCE(hours_per_week) AS v FROM adult GROUP BY sex;
SELECT sex, SQRT(VARIANCE(hours_per_week) / COUNT(*)) AS standard_error FROM adult GROUP BY sex;
SELECT workclass, SUM(hours_per_week) AS hours FROM adult GROUP BY workclass;
SELECT SUM(hours) AS hours FROM (SELECT workclass, SUM(hours_per_week) AS hours FROM adult GROUP BY workclass) AS t;
SELECT COUNT(*) AS n FROM adult WHERE hours_per_week >= 50;
SELECT income, COUNT(*) AS n FROM adult WHERE hours_per_week >= 50 GROUP BY income;
SELECT COUNT(*) AS n FROM adult WHERE hours_per_week > (SELECT AVG(hours_per_week) FROM adult);

-- age
SELECT AVG(age) AS age FROM adult;
SELECT income, AVG(age) AS age FROM adult GROUP BY income;
SELECT income, AVG(age) AS age, COUNT(*) AS n FROM adult GROUP BY income;
SELECT income, MEDIAN(age) AS age FROM adult GROUP BY income;
SELECT QUANTILE_CONT(age, 0.25) AS lower_quartile FROM adult WHERE income = '>50K';
SELECT age, COUNT(*) AS n FROM adult GROUP BY age ORDER BY age;
SELECT age, SUM(n) OVER (ORDER BY age) * 1.0 / SUM(n) OVER () AS cumulative FROM (SELECT age, COUNT(*) AS n FROM adult GROUP BY age) AS t ORDER BY age;
SELECT COUNT(*) AS n FROM adult WHERE age BETWEEN 30 AND 39;
SELECT COUNT(*) AS n FROM adult WHERE age BETWEEN 30 AND 49;

-- capital
SELECT SUM(capital_gain) AS gains FROM adult;
SELECT income, SUM(capital_gain) AS gains FROM adult GROUP BY income;
SELECT COUNT(*) AS n FROM adult WHERE capital_gain > 0;
SELECT income, COUNT(*) AS n FROM adult WHERE capital_gain > 0 GROUP BY income;
SELECT sex, COUNT(*) AS n FROM adult WHERE capital_gain > 0 GROUP BY sex;
SELECT COUNT(*) AS n FROM adult WHERE capital_gain > 5000;
SELECT COUNT(*) AS n FROM adult WHERE capital_loss > 0;

-- narrow groups that nobody asked about before
SELECT COUNT(*) AS n FROM adult WHERE education = 'Doctorate' AND sex = 'Female' AND income = '>50K';
SELECT occupation, COUNT(*) AS n FROM adult WHERE education = 'Masters' AND age < 40 GROUP BY occupation ORDER BY n DESC LIMIT 5;
SELECT relationship, COUNT(*) AS n FROM adult WHERE marital_status = 'Never-married' AND age >= 40 GROUP BY relationship;
SELECT workclass, COUNT(*) AS n FROM adult WHERE race = 'Black' AND income = '>50K' GROUP BY workclass;
SELECT COUNT(*) AS n FROM adult WHERE workclass = 'Self-emp-inc' AND hours_per_week >= 60;
SELECT native_country, COUNT(*) AS n FROM adult WHERE education = 'Bachelors' GROUP BY native_country HAVING COUNT(*) > 50 ORDER BY n DESC;

-- tables for the paper
SELECT sex, income, COUNT(*) AS "N" FROM adult GROUP BY sex, income ORDER BY sex, income;
SELECT education, income, COUNT(*) AS "N" FROM adult GROUP BY education, income ORDER BY education, income;
SELECT a.education, a.n AS all_people, b.n AS rich, 100.0 * b.n / a.n AS percent FROM (SELECT education, COUNT(*) AS n FROM adult GROUP BY education) AS a JOIN (SELECT education, COUNT(*) AS n FROM adult WHERE income = '>50K' GROUP BY education) AS b USING (education) ORDER BY percent DESC;
SELECT 'under 40' AS band, income, COUNT(*) AS n FROM adult WHERE age < 40 GROUP BY income UNION ALL SELECT '40 and over' AS band, income, COUNT(*) AS n FROM adult WHERE age >= 40 GROUP BY income;
SELECT LN(1.0 * f.rich * m.poor / (f.poor * m.rich)) AS log_odds_ratio FROM (SELECT COUNT(*) FILTER (WHERE income = '>50K') AS rich, COUNT(*) FILTER (WHERE income = '<=50K') AS poor FROM adult WHERE sex = 'Female') AS f CROSS JOIN (SELECT COUNT(*) FILTER (WHERE income = '>50K') AS rich, COUNT(*) FILTER (WHERE income = '<=50K') AS poor FROM adult WHERE sex = 'Male') AS m;
SELECT income, AVG(hours_per_week) AS "Mean hours", AVG(age) AS "Mean age", COUNT(*) AS "N" FROM adult GROUP BY income ORDER BY income;
