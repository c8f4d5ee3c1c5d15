-- «READ_CSV('/etc/passwd')» is no table of the policy.
SELECT * FROM read_csv('/etc/passwd')

-- «READ_CSV('/etc/passwd')» is no table of the policy.
SELECT COUNT(*) FROM read_csv('/etc/passwd')

-- COPY is not a question.
COPY people TO 'x'

-- ATTACH is not a question.
ATTACH 'x.db'

-- INSTALL is not a question.
INSTALL httpfs

-- PRAGMA is not a question.
PRAGMA database_list

-- SUMMARIZE is not a question.
SUMMARIZE people

-- EXPLAIN is not a question.
EXPLAIN SELECT COUNT(*) FROM people

-- EXPLAIN is not a question.
EXPLAIN ANALYZE SELECT COUNT(*) FROM people

-- DESCRIBE is not a question.
DESCRIBE people

-- «DUCKDB_TABLES()» is no table of the policy.
SELECT COUNT(*) FROM duckdb_tables()

-- «QUERY('select 1')» is no table of the policy.
SELECT COUNT(*) FROM query('select 1')

-- «QUERY_TABLE('people')» is no table of the policy.
SELECT COUNT(*) FROM query_table('people')

-- the function json_execute_serialized_sql is not answered.
SELECT json_execute_serialized_sql('x')

-- SET is not a question.
SET VARIABLE a = 1

-- the function getenv is not answered.
SELECT getenv('HOME')

-- the function getvariable is not answered.
SELECT COUNT(*) FROM people WHERE getvariable('x') = 1

-- the question has 2 statements.
SELECT COUNT(*) FROM people; DROP TABLE people

-- the question has 0 statements.
;

-- there is no table рeople.
SELECT COUNT(*) FROM рeople

-- there is no column "аge".
SELECT COUNT(*) FROM people WHERE "аge" > 3

-- is not answered
WITH RECURSIVE a AS (SELECT * FROM people) SELECT COUNT(*) FROM a

-- VALUES is not a question.
VALUES (1)

-- «SELECT age FROM people UNION ALL SELECT days FROM visits» would put rows of people together.
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT days FROM visits)

-- the question would show rows.
SELECT ROW_NUMBER() OVER () FROM people

-- the question would show rows.
SELECT COUNT(*) OVER () FROM people

-- a condition on rows cannot compare with «SELECT AVG(age) FROM people GROUP BY sex», which may have several rows.
SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people GROUP BY sex)

-- a condition on rows cannot compare with «SELECT AVG(age), COUNT(*) FROM people», which has several columns.
SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age), COUNT(*) FROM people)

-- a condition on rows cannot compare with «SELECT age FROM people», which aggregates no rows of people.
SELECT COUNT(*) FROM people WHERE age > (SELECT age FROM people)

-- a condition on rows cannot compare with «SELECT 3», which aggregates no rows of people.
SELECT COUNT(*) FROM people WHERE age > (SELECT 3)

-- SUBQUERY in «(SELECT AVG(age) FROM people)» is not allowed here.
SELECT COUNT(*) FILTER (WHERE age > (SELECT AVG(age) FROM people)) FROM people

-- SUBQUERY in «(SELECT AVG(age) FROM people)» is not allowed here.
SELECT SUM(age - (SELECT AVG(age) FROM people)) FROM people

-- a subquery in «age IN (SELECT age FROM people)» is not answered.
SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people)

-- EXISTS in «EXISTS(SELECT 1 FROM visits)» is not answered.
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits)

-- LATERAL in «LATERAL (SELECT 1)» is not answered.
SELECT COUNT(*) FROM people, LATERAL (SELECT 1)

-- UNNEST in «UNNEST([1, 2])» is not answered.
SELECT COUNT(*) FROM people, UNNEST([1,2])

-- the question would show rows.
SELECT UNNEST([1,2]) FROM people

-- PIVOT in «PIVOT people ON sex USING COUNT(*)» is not answered.
PIVOT people ON sex USING COUNT(*)

-- PIVOT in «people PIVOT(COUNT(*) FOR sex IN ('f'))» is not answered.
SELECT COUNT(*) FROM people PIVOT (COUNT(*) FOR sex IN ('f'))

-- SAMPLE in «people TABLESAMPLE SYSTEM (10 PERCENT)» is not answered.
SELECT COUNT(*) FROM people TABLESAMPLE 10%

-- is not answered
SELECT COUNT(*) FROM people USING SAMPLE 10

-- there is no table x.parquet.
SELECT COUNT(*) FROM 'x.parquet'

-- there is no table x.parquet.
SELECT COUNT(*) FROM "x.parquet"

-- a schema's name in «people.parquet» is not answered.
SELECT COUNT(*) FROM people.parquet

-- a schema's name in «main.people» is not answered.
SELECT COUNT(*) FROM main.people

-- a dot in «{'a': 1}.a» is not answered.
SELECT COUNT(*) FROM people WHERE {'a': 1}.a = 1

-- [ ] in «[1, 2][1]» is not answered.
SELECT COUNT(*) FROM people WHERE [1,2][1] = 1

-- TO_MAP in «MAP {'a': 1}['a']» is not answered.
SELECT COUNT(*) FROM people WHERE MAP {'a': 1}['a'] = 1

-- FILTER in «LIST_FILTER([1], LAMBDA x : x > 1)» is not answered.
SELECT COUNT(*) FROM people WHERE list_filter([1], x -> x > 1) = 1

-- FILTER in «LIST_FILTER([1], LAMBDA x : x > 1)» is not answered.
SELECT COUNT(*) FROM people WHERE list_filter([1], lambda x: x > 1) = 1

-- || in «city || 'x'» is not answered.
SELECT COUNT(*) FROM people WHERE city || 'x' = 'ax'

-- a regular expression in «REGEXP_MATCHES(city, 'x')» is not answered.
SELECT COUNT(*) FROM people WHERE regexp_matches(city, 'x')

-- RAND in «RANDOM()» is not answered.
SELECT COUNT(*) FROM people WHERE random() < 0.5

-- the function now is not answered.
SELECT COUNT(*) FROM people WHERE born < now()

-- CURRENT_DATE in «CURRENT_DATE» is not answered.
SELECT COUNT(*) FROM people WHERE born < current_date

-- the function hash is not answered.
SELECT COUNT(*) FROM people WHERE hash(city) = 1

-- MD5 in «MD5(city)» is not answered.
SELECT COUNT(*) FROM people WHERE md5(city) = 'x'

-- the function printf is not answered.
SELECT COUNT(*) FROM people WHERE printf('%s', city) = 'x'

-- the function error is not answered.
SELECT COUNT(*) FROM people WHERE error('x') = 1

-- the column name identifies people, so it is never released.
SELECT name, COUNT(*) FROM people GROUP BY name

-- the column name identifies people, so it is never released.
SELECT COUNT(name) FROM people

-- the column name identifies people, so it is never released.
SELECT COUNT(*) FROM people WHERE name = 'x'

-- the column patient identifies people, so it is never released.
SELECT COUNT(*) FROM visits WHERE patient = 'x'

-- the question would show rows.
SELECT patient, COUNT(*) FROM visits GROUP BY patient

-- there is no column "_discreet_person".
SELECT COUNT(*) FROM visits WHERE "_discreet_person" = 1

-- there is no column _discreet_rank.
SELECT COUNT(*) FROM visits WHERE _discreet_rank = 1

-- there is no column rowid.
SELECT COUNT(*) FROM visits WHERE rowid = 1

-- «SUM(income)» needs bounds, and «income» has none.
SELECT SUM(income) FROM people

-- «AVG(weight)» needs bounds, and «weight» has none.
SELECT AVG(weight) FROM people

-- SUM in «SUM(age)» is not allowed here.
SELECT SUM(SUM(age)) FROM people

-- COUNT in «COUNT(*)» is not allowed here.
SELECT COUNT(*) FROM people WHERE COUNT(*) > 1

-- COUNT in «COUNT(*)» is not allowed here.
SELECT COUNT(*) FROM people GROUP BY COUNT(*)

-- the question would show rows.
SELECT * FROM people

-- the question would show rows.
SELECT people.* FROM people

-- the question would show rows.
SELECT age FROM people

-- there is no table peopl.
SELECT COUNT(*) FROM peopl

-- there is no column aeg.
SELECT COUNT(*) FROM people WHERE aeg > 1

-- the column patient is in v and p.
SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient = p.patient WHERE patient > 1

-- the column days is in v and w.
SELECT COUNT(*) FROM visits v JOIN (SELECT patient, days FROM visits) w ON v.patient = w.patient WHERE days > 1

-- CROSS JOIN is not answered.
SELECT COUNT(*) FROM people CROSS JOIN visits

-- «, visits» is no join by one equality.
SELECT COUNT(*) FROM people, visits

-- is no join by one equality
SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient > p.patient

-- joins by columns that are neither the person nor a declared link
SELECT COUNT(*) FROM visits v JOIN patients p ON v.days = p.age

-- visits appears twice in FROM.
SELECT COUNT(*) FROM visits JOIN visits ON visits.patient = visits.patient

-- HAVING, ORDER BY and LIMIT need an aggregate.
SELECT COUNT(*) FROM (SELECT age FROM people ORDER BY age)

-- FETCH in «FETCH FIRST 3 ROWS ONLY» is not answered.
SELECT COUNT(*) FROM people FETCH FIRST 3 ROWS ONLY

-- «LIMIT 1 + 1» needs a whole number.
SELECT COUNT(*) FROM people LIMIT 1+1

-- PERCENT in «LIMIT 10 PERCENT» is not answered.
SELECT COUNT(*) FROM people LIMIT 10%

-- «LIMIT 99999999999999999999999999» needs a whole number.
SELECT COUNT(*) FROM people LIMIT 99999999999999999999999999

-- PLACEHOLDER in «$1» is not answered.
SELECT COUNT(*) FROM people WHERE age > $1

-- PLACEHOLDER in «?» is not answered.
SELECT COUNT(*) FROM people WHERE age > ?

-- PLACEHOLDER in «$x» is not answered.
SELECT COUNT(*) FROM people WHERE age > :x

-- is not answered
SELECT COUNT(*) INTO x FROM people

-- FOR UPDATE in «SELECT COUNT(*) FROM people» is not answered.
SELECT COUNT(*) FROM people FOR UPDATE

-- casting to VARBINARY is not answered.
SELECT COUNT(*) FROM people WHERE CAST(age AS BLOB) = 'x'

-- a type of lists or structures in «INT[]» is not answered.
SELECT COUNT(*) FROM people WHERE CAST(age AS INTEGER[]) = 'x'

-- a type of lists or structures in «STRUCT(a INT)» is not answered.
SELECT COUNT(*) FROM people WHERE CAST(age AS STRUCT(a INTEGER)) = 'x'

-- COLLATE in «city COLLATE NOCASE» is not answered.
SELECT COUNT(*) FROM people WHERE city COLLATE NOCASE = 'x'

-- AT TIME ZONE in «seen AT TIME ZONE 'UTC'» is not answered.
SELECT COUNT(*) FROM people WHERE seen AT TIME ZONE 'UTC' > '2020-01-01'

-- SIMILAR TO in «city SIMILAR TO 'x'» is not answered.
SELECT COUNT(*) FROM people WHERE city SIMILAR TO 'x'

-- GLOB in «city GLOB 'x'» is not answered.
SELECT COUNT(*) FROM people WHERE city GLOB 'x'

-- a regular expression in «REGEXP_MATCHES(city, 'x')» is not answered.
SELECT COUNT(*) FROM people WHERE city ~ 'x'

-- ESCAPE in «city LIKE 'x' ESCAPE '!'» is not answered.
SELECT COUNT(*) FROM people WHERE city LIKE 'x' ESCAPE '!'

-- «QUANTILE_CONT(age, 1.5)» needs a constant from 0 to 1.
SELECT QUANTILE_CONT(age, 1.5) FROM people

-- «QUANTILE_CONT(age, age)» needs a constant from 0 to 1.
SELECT QUANTILE_CONT(age, age) FROM people

-- «QUANTILE_CONT(age, '1/0')» needs a constant from 0 to 1.
SELECT QUANTILE_CONT(age, '1/0') FROM people

-- ARRAY in «[0.1, 0.9]» is not answered.
SELECT QUANTILE_CONT(age, [0.1, 0.9]) FROM people

-- «QUANTILE_CONT(age, -0.5)» needs a constant from 0 to 1.
SELECT QUANTILE_CONT(age, -0.5) FROM people

-- MODE needs a column of declared values.
SELECT MODE(city) FROM people

-- a key's values are not declared, so groups would have to be
SELECT city, COUNT(*) FROM people GROUP BY city

-- the question is not SQL that can be read.
SELECT SUM() FROM people

-- GROUP BY «'x'» is a constant.
SELECT COUNT(*) FROM people GROUP BY 'x'

-- GROUP BY «NULL» is a constant.
SELECT COUNT(*) FROM people GROUP BY NULL

-- GROUP BY 99999999999999999999 names no column of SELECT.
SELECT COUNT(*) FROM people GROUP BY 99999999999999999999

-- a list in parentheses in «()» is not answered.
SELECT COUNT(*) FROM people GROUP BY ()

-- FILTER needs a condition; «age» is none.
SELECT COUNT(*) FILTER (WHERE age) FROM people

-- FILTER needs a condition; «city» is none.
SELECT COUNT(*) FILTER (WHERE city) FROM people

-- a list of column names after an alias in «p(a, b)» is not answered.
SELECT COUNT(*) FROM people AS p(a, b)

-- a list of column names after an alias in «a(x)» is not answered.
WITH a(x) AS (SELECT age FROM people) SELECT SUM(x) FROM a

-- the subquery names two columns X.
SELECT SUM(x) FROM (SELECT age AS x, height AS X FROM people)

-- the subquery names two columns t.
SELECT AVG(t) FROM (SELECT patient, SUM(cost) AS t, COUNT(*) AS t FROM visits GROUP BY patient)

-- EXCLUDE in «* EXCLUDE (age)» is not answered.
SELECT SUM(age) FROM (SELECT * EXCLUDE (age) FROM people)

-- REPLACE in «* REPLACE (income AS age)» is not answered.
SELECT SUM(age) FROM (SELECT * REPLACE (income AS age) FROM people)

-- «CASE WHEN age > 40 THEN 1 END» in «AVG(CASE WHEN age > 40 THEN 1 END)» is a constant.
SELECT AVG(CASE WHEN age > 40 THEN 1 END) FROM people

-- «5» in «AVG(5)» is a constant.
SELECT AVG(5) FROM people

-- «5» in «MEDIAN(5)» is a constant.
SELECT MEDIAN(5) FROM people

-- «AVG(NULL)» needs a number, not a null.
SELECT AVG(NULL) FROM people

-- is not answered
SELECT COUNT(*) FROM people WHERE age BETWEEN SYMMETRIC 5 AND 3

-- is not answered
SELECT FLOOR(age, 1), COUNT(*) FROM people GROUP BY 1

-- a key's values are not declared, so groups would have to be
SELECT COALESCE(seen, TIMESTAMP '2020-01-01') AS x, COUNT(*) FROM people GROUP BY 1

-- BYTE STRING in «e'a\x00b'» is not answered.
SELECT COUNT(*) FROM people WHERE city = E'a\000b'

-- RAW STRING in «'x'» is not answered.
SELECT COUNT(*) FROM people WHERE city = $$x$$

-- «age IN ()» compares with nothing.
SELECT COUNT(*) FROM people WHERE age IN ()

-- ANY in «ANY (SELECT 1)» is not answered.
SELECT COUNT(*) FROM people WHERE age = ANY(SELECT 1)

-- ARRAY in «[1]» is not answered.
SELECT COUNT(*) FROM people WHERE age = ALL([1])

-- a list in parentheses in «(age, height)» is not answered.
SELECT COUNT(*) FROM people WHERE (age, height) = (1, 2)

-- the question would show rows.
SELECT COLUMNS('a.*') FROM people

-- COLUMNS in «COLUMNS(*)» is not answered.
SELECT COUNT(COLUMNS(*)) FROM people

-- a dot in «a.b.c.d.e» is not answered.
SELECT COUNT(*) FROM people WHERE a.b.c.d.e = 1

-- a schema's name in «main.people.age» is not answered.
SELECT COUNT(*) FROM people WHERE main.people.age = 1

-- ORDER BY in «age ORDER BY age» is not answered.
SELECT SUM(age ORDER BY age) FROM people

-- «SUM(DISTINCT age)» is not answered.
SELECT SUM(DISTINCT age) FROM people

-- is not answered
SELECT COUNT(DISTINCT age, height) FROM people

-- a second column in «COUNT(age, height)» is not answered.
SELECT COUNT(age, height) FROM people

-- GROUP_CONCAT in «LISTAGG(city, ',')» is not answered.
SELECT STRING_AGG(city, ',') FROM people

-- ARRAY_AGG in «ARRAY_AGG(city)» is not answered.
SELECT LIST(city) FROM people

-- FIRST in «FIRST(age)» is not answered.
SELECT FIRST(age) FROM people

-- ARG_MAX in «ARG_MAX(city, age)» is not answered.
SELECT ARG_MAX(city, age) FROM people

-- the question would show rows.
SELECT ENTROPY(age) FROM people

-- APPROX_DISTINCT in «APPROX_COUNT_DISTINCT(age)» is not answered.
SELECT APPROX_COUNT_DISTINCT(age) FROM people

-- the question would show rows.
FROM people

-- the number 99999999999999999999999 is too large.
SELECT COUNT(*) FROM people WHERE age > 99999999999999999999999

-- the question is not SQL that can be read.
SELECT COUNT(*) FROM people WHERE age > 0x1F

-- INTERVAL in «INTERVAL '1' DAY» is not answered.
SELECT COUNT(*) FROM people WHERE born > INTERVAL 1 DAY

-- «born + 1» takes a number, not a date.
SELECT COUNT(*) FROM people WHERE born + 1 > '2020-01-01'

-- «age IS TRUE» is not answered.
SELECT COUNT(*) FROM people WHERE age IS TRUE

-- IS DISTINCT FROM in «age IS DISTINCT FROM 1» is not answered.
SELECT COUNT(*) FROM people WHERE age IS DISTINCT FROM 1

-- // in «age // 2» is not answered.
SELECT COUNT(*) FROM people WHERE age // 2 = 1

-- a power in «POWER(age, 2)» is not answered.
SELECT COUNT(*) FROM people WHERE age ** 2 = 1

-- BITWISE AND in «age & 2» is not answered.
SELECT COUNT(*) FROM people WHERE age & 2 = 1

-- WHERE needs a condition; «age» is none.
SELECT COUNT(*) FROM people WHERE age

-- «age» is neither grouped by nor aggregated.
SELECT COUNT(*) FROM people HAVING age > 1

-- is not answered
SELECT COUNT(*) FROM people NATURAL JOIN visits

-- is not answered
SELECT COUNT(*) FROM visits v ASOF JOIN patients p ON v.patient >= p.patient

-- FULL JOIN is not answered.
SELECT COUNT(*) FROM visits v FULL JOIN patients p ON v.patient = p.patient

-- RIGHT JOIN is not answered.
SELECT COUNT(*) FROM visits v RIGHT JOIN patients p ON v.patient = p.patient

-- SEMI JOIN is not answered.
SELECT COUNT(*) FROM visits v SEMI JOIN patients p ON v.patient = p.patient

-- the column p.patient identifies people, so it is never released.
SELECT COUNT(DISTINCT p.patient) FROM visits v LEFT JOIN patients p ON v.patient = p.patient

-- joins by columns that are neither the person nor a declared link
SELECT COUNT(*) FROM clinics c LEFT JOIN visits v ON v.clinic = c.id

-- is no join by one equality
SELECT COUNT(*) FROM visits v LEFT JOIN patients p ON v.patient = p.patient AND p.age > 3

-- is no join by one equality
SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient = p.patient OR p.age = 3

-- joins by columns that are neither the person nor a declared link
SELECT COUNT(*) FROM visits v JOIN patients p ON v.days = p.age AND v.cost = p.age

-- «JOIN patients AS p ON TRUE» is no join by one equality.
SELECT COUNT(*) FROM visits v JOIN patients p ON TRUE

-- the number 1e-99999999 has too many digits.
SELECT QUANTILE_CONT(age, 1e-99999999) FROM people

-- the number 1e-99999999 has too many digits.
SELECT COUNT(*) FROM people WHERE age > 1e-99999999

-- the name n.low is reserved for interval bounds.
SELECT COUNT(*) AS "n.low" FROM people

-- an answer cannot be joined with rows.
SELECT n FROM (SELECT COUNT(*) AS n FROM people) JOIN people ON n = age

-- «cost» is neither grouped by nor aggregated.
SELECT AVG(t) FROM (SELECT patient, SUM(days) / cost AS t FROM visits GROUP BY patient)

-- a subquery of totals per person has no ORDER BY or LIMIT.
SELECT AVG(t) FROM (SELECT patient, SUM(cost) AS t FROM visits GROUP BY patient ORDER BY t LIMIT 5)

-- «SUM(DISTINCT days)» is no total per person.
SELECT AVG(t) FROM (SELECT patient, SUM(DISTINCT days) AS t FROM visits GROUP BY patient)

-- «JOIN orders AS o ON i.article = o.id» joins by columns that are neither the person nor a declared link.
SELECT COUNT(*) FROM items i JOIN orders o ON i.article = o.id

-- «JOIN visits AS v ON i."order" = v.patient» joins by columns that are neither the person nor a declared link.
SELECT COUNT(*) FROM items i JOIN visits v ON i."order" = v.patient

-- «JOIN items AS j ON i."order" = j."order"» joins by columns that are neither the person nor a declared link.
SELECT COUNT(*) FROM items i JOIN items j ON i."order" = j."order"

-- the column i."order" identifies people, so it is never released.
SELECT i."order", COUNT(*) FROM items i GROUP BY 1

-- the question would show rows.
SELECT customer, MAX(pieces) FROM items i JOIN orders o ON i."order" = o.id GROUP BY customer

-- «MAX(sex)» needs a number, not a text.
SELECT MAX(sex) FROM people

-- «SUM(city)» needs a number, not a text.
SELECT SUM(city) FROM people

-- «sex = 3» cannot mix number and text.
SELECT COUNT(*) FROM people WHERE sex = 3

-- «born > 'soon'» cannot mix date and text.
SELECT COUNT(*) FROM people WHERE born > 'soon'

-- soon is no date.
SELECT COUNT(*) FROM people WHERE born > DATE 'soon'

-- the date part EPOCH is not answered.
SELECT EXTRACT(epoch FROM seen), COUNT(*) FROM people GROUP BY 1

-- truncating to century is not answered.
SELECT DATE_TRUNC('century', born), COUNT(*) FROM people GROUP BY 1

-- «ROUND(height, 20)» rounds to digits that are no constant.
SELECT ROUND(height, 20), COUNT(*) FROM people GROUP BY 1

-- WITH names a twice.
WITH a AS (SELECT * FROM people), a AS (SELECT * FROM visits) SELECT COUNT(*) FROM a

-- there is no table b.
WITH a AS (SELECT * FROM b), b AS (SELECT * FROM people) SELECT COUNT(*) FROM a

-- ORDER BY 7 names no column of SELECT.
SELECT COUNT(*) FROM people ORDER BY 7

-- «city» is neither grouped by nor aggregated.
SELECT city, sex, COUNT(*) FROM people GROUP BY sex

-- DELETE is not a question.
DELETE FROM people

-- CREATE is not a question.
CREATE TABLE x AS SELECT * FROM people

-- EXECUTE is not a question.
EXECUTE q(1)

-- PREPARE is not a question.
PREPARE q AS SELECT COUNT(*) FROM people

-- CALL is not a question.
CALL pragma_version()

-- LOAD is not a question.
LOAD httpfs

-- the question is not SQL that can be read.
EXPORT DATABASE 'x'

-- SELECT names no column.
SELECT

-- BOOL_OR needs a condition; «age» is none.
SELECT BOOL_OR(age) FROM people

-- «BOOL_AND(DISTINCT smoker)» is not answered.
SELECT BOOL_AND(DISTINCT smoker) FROM people

-- the function EVERY is not answered.
SELECT EVERY(smoker) FROM people
