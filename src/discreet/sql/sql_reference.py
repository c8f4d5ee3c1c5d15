"""Generator of docs/sql.md, the SQL reference, from the allow-lists, so that both always agree.

    python -m discreet.sql.sql_reference > docs/sql.md

Errors and refusals in it are computed from real plans over the policy below; the two sample answers are of
one run on the sample tables and are not recomputed, because noise differs each time.
"""

from __future__ import annotations

import sys

from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.sql.aggregates import AGGREGATES
from discreet.sql.allowed_functions import FUNCTIONS
from discreet.sql.joins import MOST_ROWS
from discreet.sql.planner import plan_query
from discreet.sql.post_processing_reference import format_post_processing
from discreet.sql.query_parser import DEEPEST, LONGEST
from discreet.sql.resolver import MOST_SELECTS, MOST_TABLES
from discreet.sql.scalar_expressions import CASTS
from discreet.sql.type_inference import PARTS, UNITS

POLICY = Policy.model_validate(
    {
        "tables": {
            "census": {
                "source": "census.parquet",
                "columns": {
                    "age": {"type": "integer", "low": 17, "high": 90},
                    "hours": {"type": "integer", "low": 1, "high": 99},
                    "sex": {"type": "category", "values": ["Male", "Female"]},
                    "income": {"type": "integer"},
                    "town": {"type": "text"},
                    "name": {"role": "identifier"},
                },
            },
            "visits": {
                "source": "visits.parquet",
                "person": "patient",
                "rows_per_person": 5,
                "links": {"clinic": "clinics.id"},
                "columns": {
                    "id": {"role": "identifier"},
                    "patient": {"role": "identifier"},
                    "clinic": {"type": "integer", "low": 1, "high": 50},
                    "cost": {"type": "integer", "low": 0, "high": 1000},
                },
            },
            "prescriptions": {
                "source": "prescriptions.parquet",
                "person": {"through": "visit"},
                "rows_per_person": 10,
                "links": {"visit": "visits.id"},
                "columns": {
                    "visit": {"role": "identifier"},
                    "drug": {"type": "category", "values": ["A", "B"]},
                },
            },
            "clinics": {
                "source": "clinics.parquet",
                "person": "none",
                "columns": {
                    "id": {"type": "integer", "low": 1, "high": 50},
                    "region": {"type": "category", "values": ["North", "South"]},
                },
            },
        }
    }
)
PROMISE = Promise(0.01, 0.05)
GROUPS = {
    "Arithmetic": (
        "add",
        "subtract",
        "multiply",
        "divide",
        "modulo",
        "negate",
        "abs",
        "round",
        "floor",
        "ceil",
    ),
    "Choice": ("case", "switch", "coalesce", "nullif", "least", "greatest"),
    "Comparison": (
        "equal",
        "unequal",
        "less",
        "at_most",
        "more",
        "at_least",
        "in",
        "between",
        "is_null",
        "like",
    ),
    "Logic": ("and", "or", "not"),
    "Text": ("lower", "upper", "substr", "length"),
    "Dates": ("part", "truncate"),
    "Conversion": ("cast",),
}
PRICED = (
    "SELECT COUNT(*) FROM census",
    "SELECT SUM(hours) FROM census",
    "SELECT SUM(LEAST(hours, 40)) FROM census",
    "SELECT SUM(LEAST(GREATEST(income, 0), 1000)) FROM census",
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(DISTINCT patient) FROM visits",
    "SELECT SUM(total) FROM (SELECT patient, SUM(cost) AS total FROM visits GROUP BY patient)",
    "SELECT SUM(most) FROM (SELECT patient, MAX(cost) AS most FROM visits GROUP BY patient)",
    "SELECT COUNT(*) FROM prescriptions",
    "SELECT COUNT(*) FROM prescriptions p JOIN visits v ON p.visit = v.id WHERE v.cost > 100",
)
REFUSED = (
    "SELECT * FROM census",
    "SELECT SUM(income) FROM census",
    "SELECT town, COUNT(*) FROM census GROUP BY town",
    "SELECT COUNT(*) FROM census WHERE name = 'Ada'",
    "SELECT COUNT(*) FROM census WHERE aeg > 30",
    "SELECT COUNT(*) FROM census, visits",
    "SELECT SUM(age - (SELECT AVG(age) FROM census)) FROM census",
    "SELECT RANK() OVER (ORDER BY age) FROM census",
    "SELECT COUNT(*) FROM census UNION SELECT age FROM census",
    "SELECT town, random() FROM census GROUP BY town",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) FROM census WHERE town || 'm' = 'Ulm'",
)


def format_reference() -> str:
    """Return the Markdown of the whole page."""
    sections = (
        _OPENING,
        _format_functions(),
        _format_aggregates(),
        _AGGREGATES,
        _format_errors(),
        _REST,
        format_post_processing(),
        _format_refusals(),
        _format_limits(),
    )
    return "\n\n".join(section.strip() for section in sections) + "\n"


def _format_functions() -> str:
    lines = ["## Functions on rows", "", "| | |", "|---|---|"]
    for title, names in GROUPS.items():
        lines.append(f"| {title} | {', '.join(f'`{FUNCTIONS[name].syntax}`' for name in names)} |")
    types = ", ".join(["DECIMAL(p, s)", *(kind for kinds in CASTS.values() for kind in kinds)])
    return "\n".join(lines) + _FUNCTIONS.format(parts=", ".join(PARTS), units=", ".join(UNITS), types=types)


def _format_aggregates() -> str:
    lines = ["## Aggregates", "", "| | |", "|---|---|"]
    for each in AGGREGATES:
        names = ", ".join(f"`{name}`" for name in each.sql_names)
        lines.append(f"| {names} | {each.documentation} |")
    return "\n".join([*lines, "", "```sql", *(each.example for each in AGGREGATES), "```"])


def _format_errors() -> str:
    lines = [_BOUNDS.strip(), "", "| question | 95% of errors are within |", "|---|---|"]
    for question in PRICED:
        (vector,) = plan_query(question, POLICY, PROMISE, epsilon=1).noisy_primitives.values()
        within = vector.half_width(0.95) * vector.primitive.unit
        lines.append(f"| `{question}` | ± {float(within):,.0f} |")
    return "\n".join(lines)


def _format_refusals() -> str:
    lines = ["## Refused", "", _REFUSED, "", "```"]
    for question in REFUSED:
        lines += [question, f"    {_find_refusal(question)}"]
    return "\n".join([*lines, "```"])


def _find_refusal(question: str) -> str:
    try:
        plan_query(question, POLICY, PROMISE, epsilon=1)
    except RequestError as refusal:
        return str(refusal)
    raise AssertionError(f"{question} is not refused")


def _format_limits() -> str:
    text = f"{LONGEST:,} characters, {DEEPEST} levels of nesting"
    reads = f"{MOST_SELECTS} SELECTs and {MOST_TABLES} tables"
    joins = f"a join may give one person at most {MOST_ROWS:,} rows"
    return f"## Limits\n\nA question has at most {text}, {reads};\n{joins}."


_OPENING = """
# What can be asked

<!-- Made by `python -m discreet.sql.sql_reference > docs/sql.md`: change that module. -->

Aggregate queries in DuckDB's SQL dialect. The text itself is never run on the data: it is parsed, checked
against the lists on this page, and turned into a plan; the statements that the engine runs are written from
the plan. A query that uses anything else is refused before data is read, costs nothing, and the refusal says
what to write instead.

```sql
[WITH name AS (SELECT …), …]
SELECT keys, aggregates, arithmetic over them
FROM table [AS alias] | (SELECT …) [AS alias]
[[LEFT] JOIN table ON a.x = b.y | USING (x)] …
[WHERE condition]
[GROUP BY expressions | places | aliases | ALL | ROLLUP | CUBE | GROUPING SETS]
[HAVING condition] [QUALIFY condition] [ORDER BY … [DESC]] [LIMIT n] [OFFSET n]
```

```sql
SELECT workclass, AVG(hours_per_week) AS hours, COUNT(*) AS people
FROM census WHERE age >= 30
GROUP BY workclass HAVING workclass LIKE 'Self-emp%' ORDER BY hours DESC
```

One run, with epsilon 0.5 (each ± holds with 95% confidence; "Error bars" says which columns have one):

```
workclass                 hours           people
Self-emp-inc       49.37 ± 0.99       1,508 ± 24
Self-emp-not-inc   44.60 ± 0.47       3,460 ± 24
```

Names are those of the policy, in any case; put names with blanks or reserved words into double quotes, and
text into single quotes, with `''` for a quote. Comments and a final semicolon are allowed.
"""
_FUNCTIONS = """

Date parts: {parts}. Units of DATE_TRUNC: {units}. Types of CAST: {types}. Text beside
a date is read as one: `born >= '1990-01-31'`. ILIKE is LIKE in any case, LEFT(a, n) the first letters, and
ROUND(a, -3) rounds to thousands. DATE_TRUNC of a DATE is a DATE (DuckDB's is the same day as a TIMESTAMP).

Every function has a value, or NULL, for whatever the data holds: division by zero, text that is no
number, numbers beyond what a computer holds, and values that the policy does not declare all give NULL,
never an error.

## Numbers

Numbers have the types of DuckDB, and are computed as DuckDB computes them, on every engine.

| | |
|---|---|
| INTEGER | `3`, a column of type `integer`, LENGTH, date parts |
| DECIMAL | `0.1` and `3.0`; a `decimal` column with a `resolution`, and as many places as that has |
| DOUBLE | `1e-1`; a `decimal` column without a resolution; quotients, means, FLOOR and CEIL of an INTEGER |

- INTEGER and DECIMAL are exact: `age * 0.1 = 3.3` holds where age is 33, and `ROUND(33 * 1.005, 2)` is 33.17.
  A product has the places of both factors; a number combined with a DOUBLE becomes DOUBLE: `age * 1e-1 = 3.3`
  does not hold where age is 33.
- Halves are rounded away from 0; CAST of a DOUBLE to a whole number rounds them to the even side.
- A file may hold a `decimal` column as DOUBLE: it is rounded to its resolution when it is read, and from then
  on it is the DECIMAL of that resolution. To compare with such a file in DuckDB, cast the column first.
- DECIMAL(p, s) has p digits, s of them behind the point, 38 at most; DECIMAL alone is DECIMAL(18, 3). Text is
  read where p + s is at most 38.
- Where DuckDB stops with an error there is a value or NULL: sums and products are exact up to 38 digits, also
  beyond BIGINT, and DOUBLE where 38 digits might not hold them; a number with more digits than the DECIMAL of
  its CAST is NULL, and so is a remainder by 0.
- Where DuckDB gives an infinity or NaN there is NULL, and `-0.0` is 0.
- Whole numbers of a CAST have 64 bits, whatever type is named, and FLOAT is DOUBLE.
- DECIMAL(p, s) of a DOUBLE is a rounded DOUBLE where p is above 18; text of a rounded number whose column has
  no bounds may show the places that it had before.
- SUM, AVG and quantiles of an expression whose bounds are more than 2^40 of its steps, and VARIANCE of one
  with more than 2^24, round each row to a coarser step.
- An answer shows group keys and values that are not whole as DOUBLE.
"""
_AGGREGATES = """
Each may be followed by `FILTER (WHERE …)`.

- Of a column that the policy declares with `nulls: false`, and of whatever is computed from such columns and
  cannot be NULL, COUNT(x) is COUNT(*), so they share what they pay for. A row that lacks the value all the
  same counts as one in the middle of the range.
- MEDIAN, QUANTILE_CONT, PERCENTILE_CONT, MIN and MAX choose a value of the declared range, MODE one of the
  declared values. Those have no interval: what an error in ranks means in values depends on data that are not
  released. The answer states instead, under `ranks`, by how many rows each may be off; this does not depend
  on the data. To see the spread in values, ask for more quantiles:
  `QUANTILE_CONT(x, 0.45), MEDIAN(x), QUANTILE_CONT(x, 0.55)`.
- BOOL_OR and BOOL_AND have no interval either. The answer states instead, under `decisions`, the probability
  that each is `wrong`, and the `rows` from which on this holds: a BOOL_OR that is "right where no row is
  true, or at least 61 rows are" is wrong in such groups with a probability of at most 5%, at a confidence of
  95%. Where one to 60 rows are true it may be either.

## What an answer costs

`epsilon`, a `share` of the promise, or `within`: the least epsilon for an error, at the stated confidence.

| | |
|---|---|
| COUNT, SUM | `--within 10` |
| AVG | `--within 0.5 --least-rows 1000`: if a group has that many rows, its ± is no wider |
| MEDIAN, QUANTILE_CONT, MIN, MAX | `--within 2% --least-rows 1000`: 2% of the rows, in ranks |
| VARIANCE, STDDEV, MODE | their errors depend on the data: give epsilon |
| BOOL_OR, BOOL_AND | they are true or false: give epsilon |

`--least-rows` is an assumption of the analyst. Accuracy depends on it, privacy does not; if it is wrong, the
intervals are wider and still hold. AVG needs none where the number of rows is public. `--within` is
refused, and costs nothing, for columns that have no error bar (next section), and for quotients, whose ±
depends on the data.

## Error bars

Every ± follows from the public law of the noise, after everything that the statement did:

| | |
|---|---|
| a measure that is shown as itself, renamed at most | its own interval |
| sums, multiples; totals, means, windows over groups | the law of the sum: one count ± 60, of 656 ± 1,420 |
| a quotient of such values | Fieller's interval; "cannot be told" where the divisor may be 0 |
| ROUND, SQRT, LN, EXP, ABS … of one such value | the ends are mapped |
| MAX and MIN over groups, GREATEST and LEAST | their range while all groups are within their intervals |
| anything else | none; the answer says why under `no_interval` |

Among what has none: totals over groups that are not declared or that noise selected, products, comparisons
and CASE of noisy values.

`interval_kind` says of each column what its intervals promise. `per_row`: each row's interval holds with the
stated confidence. `all_rows`: all of them hold together, so also for rows that noise selected, by HAVING,
WHERE or QUALIFY on a noisy value, by ORDER BY … LIMIT or a maximum: the top 3 of 656 groups have ± 189 where
one group has ± 60. The same holds for statements about groups that an earlier answer has shown, since whoever
asks may have chosen what to ask by its noise; a listing of all groups says what the first one said.

Rows that are ordered by a noisy value and all shown keep their intervals, and so do rows that HAVING, WHERE
or LIMIT select by their keys alone. A negative count is shown as 0, and stays negative in all that is
computed from it.

Every count and sum that a query needs, every value that it selects, and partition selection if there is one
get the same share of epsilon. `--split n=1 --split mean=3` weights the columns of SELECT instead: a column's
weight is divided evenly over the counts and sums that its measures need; one that several columns need gets
the largest of their weights; one that no weighted column needs gets 1. A column that shares nothing gets
epsilon in proportion to its weight, one that shares gets at least as much. The plan shows the shares.
"""
_BOUNDS = """
## What bounds do

A sum can be answered only if the change that one person can cause is bounded. So a number needs `low` and
`high` in the policy; values outside are clamped to the nearer bound. Bounds of expressions are derived:
`hours * 2` lies between 2 and 198 if `hours` lies between 1 and 99. A column without bounds can be
filtered and grouped by; to sum it, write the bounds into the question: `LEAST(GREATEST(income, 0),
1000)`. Narrower bounds mean less noise, and more values that are clamped. With epsilon 1, where `hours` is
1 to 99, `cost` 0 to 1,000, and a patient has up to 5 visits and 10 prescriptions:
"""
_REST = """
## People with several rows

Where the policy names a person column, one person counts with at most `rows_per_person` rows. The person
column itself is never released, but it can be used in three ways:

- `COUNT(DISTINCT patient)` counts people;
- a subquery that groups by it returns one row per person, with COUNT, COUNT(DISTINCT x), SUM, AVG, MIN,
  MAX, BOOL_OR and BOOL_AND, arithmetic over them, and HAVING; with further keys, one row per person and key:

```sql
SELECT AVG(total) AS mean
FROM (SELECT person_id, SUM(cost) AS total FROM hospital GROUP BY person_id)
```

One run, with epsilon 0.5: `mean` 16,518, between 15,417 and 17,618 with 95% confidence.

- tables that have it are joined by it: `visits v JOIN patients p ON v.patient = p.patient`. The rows of both
  sides multiply, and so does the noise: total one side per person first where that serves.

If a person has more rows than may count, a secret key selects the rows that do, the same ones every time.
With `bounding: weights` in the policy all of them count, each for less: of ten rows where five may count,
each counts for half a row. This is the expectation of selecting rows, without its randomness; the noise is
the same. It serves COUNT, SUM, AVG, VARIANCE, STDDEV, BOOL_OR and BOOL_AND of one table, filtered or not, by
declared groups, of numbers within 65,536 steps of their resolution (256 for VARIANCE and STDDEV), whose sums
surely fit in parts of a row; everything else uses truncated rows, as with `bounding: rows`. By default rows
are weighted where an engine is queried in place ([scale](scale.md)), and truncated where a prepared table is.
`discreet plan` says which.

Beside the person, a foreign key joins that the policy declares under `links`:

```yaml
tables:
  visits:
    source: visits.parquet
    person: patient
    rows_per_person: 5
    links: {clinic: clinics.id}
    columns: {id: {role: identifier}, patient: {role: identifier}, …}
  prescriptions:
    source: prescriptions.parquet
    person: {through: visit}         # the person of the visit that it names
    rows_per_person: 10
    links: {visit: visits.id}
    columns: {visit: {role: identifier}, …}
  clinics: {source: clinics.parquet, person: none, columns: {id: …, region: …}}
```

- To a public table (`person: none`): `visits v JOIN clinics c ON v.clinic = c.id`. A key counts once.
- Between tables of people: `prescriptions p JOIN visits v ON p.visit = v.id`, in either order. It
  joins only rows of the same person. A prescription finds one visit, so a patient has as many
  rows as prescriptions count; a LEFT JOIN from visits adds the visits without one.
- A table without a person column of its own finds its people through a link, over as many tables as it
  takes. A key should be one person's. Where several people have it, what names it belongs to each of them,
  so that nobody's rows change with another's; the custodian's log says how many such keys there are.

Other joins are refused: they would let one person's row match any number of others. Further conditions of an
inner join (`AND v.cost > 100`) are filters; with LEFT JOIN put them into WHERE or a subquery.

## Group keys

A key may be any expression: `GROUP BY FLOOR(age / 10)`. Where the policy declares what its columns hold
(values, low and high, or boolean), every group is shown, the empty ones too, so that the presence of a group
reveals nothing. The same holds if the key itself can have few values, whatever its columns hold: a
condition (`income > 50000`), a CASE of constants, a whole number between bounds (`income % 10`, a COUNT
per person), a date part, or the months of a span of time that the policy declares. Where none of this
holds, groups are selected privately (partition selection), which needs a promise with a small tail; with tail
0 the query is refused.

"""
_REFUSED = (
    "A refusal follows from the question and the policy alone; it never depends on the data. Some of them:"
)


if __name__ == "__main__":
    sys.stdout.write(format_reference())
