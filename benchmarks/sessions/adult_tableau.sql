-- One workbook over `adult`, in the SQL that Tableau and Power BI write while sheets are built and sorted.

-- connecting: the tools read the schema and the values of filters
SELECT "adult".* FROM "adult" AS "adult" WHERE (1 = 0);
SELECT "adult"."age" AS "age", "adult"."sex" AS "sex" FROM "adult" "adult" LIMIT 0;
SELECT SUM(1) AS "cnt:adult:ok" FROM "adult" "adult";
SELECT "adult"."sex" AS "sex" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."workclass" AS "workclass" FROM "adult" "adult" GROUP BY 1 ORDER BY 1 ASC;
SELECT DISTINCT "adult"."education" AS "education" FROM "adult" "adult";

-- sheet 1: drag a dimension, then another, take it away, sort it
SELECT "adult"."sex" AS "sex", SUM(1) AS "sum:Number of Records:ok" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."sex" AS "sex", "adult"."race" AS "race", SUM(1) AS "sum:Number of Records:ok" FROM "adult" "adult" GROUP BY 1, 2;
SELECT "adult"."race" AS "race", SUM(1) AS "sum:Number of Records:ok" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."race" AS "race", COUNT(1) AS "cnt:race:ok" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."race" AS "race", "adult"."sex" AS "sex", SUM(1) AS "sum:Number of Records:ok" FROM "adult" "adult" GROUP BY 1, 2;
SELECT "adult"."sex" AS "sex", AVG("adult"."hours_per_week") AS "avg:hours:ok" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."sex" AS "sex", AVG("adult"."hours_per_week") AS "avg:hours:ok", SUM(1) AS "sum:Number of Records:ok" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."sex" AS "sex", AVG("adult"."hours_per_week") AS "avg:hours:ok", AVG("adult"."age") AS "avg:age:ok", SUM(1) AS "sum:Number of Records:ok" FROM "adult" "adult" GROUP BY 1;

-- sheet 2: top n, with the subquery that Tableau joins
SELECT "t0"."occupation" AS "occupation", "t0"."n" AS "n" FROM (SELECT "adult"."occupation" AS "occupation", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1) "t0" ORDER BY 2 DESC LIMIT 5;
SELECT "t0"."occupation" AS "occupation", "t0"."n" AS "n" FROM (SELECT "adult"."occupation" AS "occupation", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1) "t0" ORDER BY 2 DESC LIMIT 8;
SELECT "t0"."occupation" AS "occupation", "t0"."n" AS "n" FROM (SELECT "adult"."occupation" AS "occupation", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1) "t0" ORDER BY 2 ASC LIMIT 5;
SELECT "adult"."occupation" AS "occupation", SUM(1) AS "$__alias__0" FROM "adult" "adult" GROUP BY 1 ORDER BY 2 DESC LIMIT 10;
SELECT "adult"."occupation" AS "occupation", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1 HAVING (SUM(1) >= 1000);
SELECT "adult"."occupation" AS "occupation", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1 HAVING (SUM(1) >= 2000);
SELECT "adult"."occupation" AS "occupation", SUM("adult"."hours_per_week") AS "sum:hours:ok" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."occupation" AS "occupation", SUM("adult"."hours_per_week") AS "sum:hours:ok", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1 ORDER BY 2 DESC;

-- sheet 3: a filter shelf, values added one by one
SELECT "adult"."education" AS "education", SUM(1) AS "n" FROM "adult" "adult" WHERE ("adult"."sex" = 'Female') GROUP BY 1;
SELECT "adult"."education" AS "education", SUM(1) AS "n" FROM "adult" "adult" WHERE ("adult"."sex" = 'Male') GROUP BY 1;
SELECT "adult"."education" AS "education", SUM(1) AS "n" FROM "adult" "adult" WHERE ("adult"."sex" IN ('Female', 'Male')) GROUP BY 1;
SELECT "adult"."education" AS "education", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."education" AS "education", "adult"."sex" AS "sex", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1, 2;
SELECT "adult"."education" AS "education", "adult"."sex" AS "sex", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1, 2 ORDER BY 1 ASC, 2 DESC;
SELECT "adult"."education" AS "education", SUM(1) AS "n" FROM "adult" "adult" WHERE ("adult"."education" IN ('Bachelors', 'Masters', 'Doctorate')) GROUP BY 1;
SELECT SUM(1) AS "n" FROM "adult" "adult" WHERE ("adult"."education" IN ('Bachelors', 'Masters', 'Doctorate'));
SELECT SUM(1) AS "n" FROM "adult" "adult" WHERE ("adult"."education" = 'Masters');
SELECT SUM(1) AS "n" FROM "adult" "adult" WHERE (("adult"."age" >= 25) AND ("adult"."age" <= 44));
SELECT "adult"."education" AS "education", SUM(1) AS "n" FROM "adult" "adult" WHERE (("adult"."age" >= 25) AND ("adult"."age" <= 44)) GROUP BY 1;
SELECT "adult"."education" AS "education", SUM(1) AS "n" FROM "adult" "adult" WHERE (("adult"."age" >= 25) AND ("adult"."age" <= 54)) GROUP BY 1;

-- sheet 4: bins and calculated fields
SELECT FLOOR("adult"."age" / 10) * 10 AS "age (bin)", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1;
SELECT FLOOR("adult"."age" / 5) * 5 AS "age (bin)", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1;
SELECT FLOOR("adult"."age" / 10) * 10 AS "age (bin)", "adult"."income" AS "income", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1, 2;
SELECT (CASE WHEN ("adult"."hours_per_week" > 40) THEN 'overtime' ELSE 'regular' END) AS "Calculation_1", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1;
SELECT (CASE WHEN ("adult"."hours_per_week" > 40) THEN 'overtime' ELSE 'regular' END) AS "Calculation_1", "adult"."sex" AS "sex", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1, 2;
SELECT "adult"."workclass" AS "workclass", SUM(CASE WHEN ("adult"."income" = '>50K') THEN 1 ELSE 0 END) AS "rich", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."workclass" AS "workclass", (SUM(CASE WHEN ("adult"."income" = '>50K') THEN 1 ELSE 0 END) * 1.0 / SUM(1)) AS "share" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."workclass" AS "workclass", "adult"."income" AS "income", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1, 2;

-- sheet 5: table calculations
SELECT "t"."workclass" AS "workclass", "t"."n" AS "n", ("t"."n" * 100.0 / SUM("t"."n") OVER ()) AS "pct" FROM (SELECT "adult"."workclass" AS "workclass", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1) "t";
SELECT "t"."bin" AS "bin", SUM("t"."n") OVER (ORDER BY "t"."bin" ROWS UNBOUNDED PRECEDING) AS "running" FROM (SELECT FLOOR("adult"."age" / 10) * 10 AS "bin", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1) "t";
SELECT "t"."workclass" AS "workclass", RANK() OVER (ORDER BY "t"."n" DESC) AS "rank" FROM (SELECT "adult"."workclass" AS "workclass", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1) "t";
SELECT "t"."sex" AS "sex", "t"."income" AS "income", ("t"."n" * 100.0 / SUM("t"."n") OVER (PARTITION BY "t"."sex")) AS "pct" FROM (SELECT "adult"."sex" AS "sex", "adult"."income" AS "income", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1, 2) "t";
SELECT MIN("t"."n") AS "min", MAX("t"."n") AS "max", AVG("t"."n") AS "reference line" FROM (SELECT "adult"."workclass" AS "workclass", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1) "t";

-- Power BI: the same model through its own SQL, with totals and paging
SELECT "t0"."sex", "t0"."c1" FROM (SELECT "_"."sex", COUNT(*) AS "c1" FROM "adult" AS "_" GROUP BY "_"."sex") AS "t0" LIMIT 501;
SELECT "t0"."sex", "t0"."income", "t0"."c1" FROM (SELECT "_"."sex", "_"."income", COUNT(*) AS "c1" FROM "adult" AS "_" GROUP BY "_"."sex", "_"."income") AS "t0" ORDER BY "t0"."sex", "t0"."income" LIMIT 501;
SELECT "_"."sex", "_"."income", COUNT(*) AS "c1" FROM "adult" AS "_" GROUP BY ROLLUP ("_"."sex", "_"."income");
SELECT "_"."sex", "_"."income", COUNT(*) AS "c1" FROM "adult" AS "_" GROUP BY GROUPING SETS (("_"."sex", "_"."income"), ("_"."sex"), ());
SELECT COUNT(*) AS "c1" FROM "adult" AS "_";
SELECT "t0"."education", "t0"."c1" FROM (SELECT "_"."education", COUNT(*) AS "c1" FROM "adult" AS "_" GROUP BY "_"."education") AS "t0" ORDER BY "t0"."c1" DESC LIMIT 5;
SELECT "t0"."education", "t0"."c1" FROM (SELECT "_"."education", COUNT(*) AS "c1" FROM "adult" AS "_" GROUP BY "_"."education") AS "t0" ORDER BY "t0"."c1" DESC LIMIT 5 OFFSET 5;
SELECT "t0"."education", "t0"."c1" FROM (SELECT "_"."education", COUNT(*) AS "c1" FROM "adult" AS "_" GROUP BY "_"."education") AS "t0" ORDER BY "t0"."c1" DESC LIMIT 6 OFFSET 10;
SELECT "t0"."education", "t0"."c1", "t0"."a0" FROM (SELECT "_"."education", COUNT(*) AS "c1", SUM("_"."capital_gain") AS "a0" FROM "adult" AS "_" GROUP BY "_"."education") AS "t0" ORDER BY "t0"."a0" DESC LIMIT 501;
SELECT SUM("_"."capital_gain") AS "a0" FROM "adult" AS "_";
SELECT SUM("_"."capital_gain") AS "a0", SUM("_"."capital_loss") AS "a1" FROM "adult" AS "_";

-- back in Tableau: countries, and a parameter that is moved
SELECT "adult"."native_country" AS "native_country", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."native_country" AS "native_country", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1 ORDER BY 2 DESC LIMIT 10;
SELECT "adult"."native_country" AS "native_country", SUM(1) AS "n" FROM "adult" "adult" WHERE (NOT ("adult"."native_country" IN ('United-States'))) GROUP BY 1 ORDER BY 2 DESC LIMIT 10;
SELECT SUM(1) AS "n" FROM "adult" "adult" WHERE ("adult"."hours_per_week" > 40);
SELECT SUM(1) AS "n" FROM "adult" "adult" WHERE ("adult"."hours_per_week" > 45);
SELECT SUM(1) AS "n" FROM "adult" "adult" WHERE ("adult"."hours_per_week" > 50);
SELECT SUM(1) AS "n" FROM "adult" "adult" WHERE ("adult"."hours_per_week" > 60);
SELECT "adult"."marital_status" AS "marital_status", MEDIAN("adult"."age") AS "med:age:ok" FROM "adult" "adult" GROUP BY 1;

-- the published dashboard is opened by the next person
SELECT "adult"."sex" AS "sex", SUM(1) AS "sum:Number of Records:ok" FROM "adult" "adult" GROUP BY 1;
SELECT "adult"."race" AS "race", "adult"."sex" AS "sex", SUM(1) AS "sum:Number of Records:ok" FROM "adult" "adult" GROUP BY 1, 2;
SELECT "t0"."occupation" AS "occupation", "t0"."n" AS "n" FROM (SELECT "adult"."occupation" AS "occupation", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1) "t0" ORDER BY 2 DESC LIMIT 8;
SELECT "adult"."education" AS "education", "adult"."sex" AS "sex", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1, 2 ORDER BY 1 ASC, 2 DESC;
SELECT FLOOR("adult"."age" / 10) * 10 AS "age (bin)", "adult"."income" AS "income", SUM(1) AS "n" FROM "adult" "adult" GROUP BY 1, 2;
SELECT "adult"."workclass" AS "workclass", (SUM(CASE WHEN ("adult"."income" = '>50K') THEN 1 ELSE 0 END) * 1.0 / SUM(1)) AS "share" FROM "adult" "adult" GROUP BY 1;
SELECT SUM(1) AS "cnt:adult:ok" FROM "adult" "adult";
