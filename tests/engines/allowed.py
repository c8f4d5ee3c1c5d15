"""Cases of everything that a question may use, by what the allow-lists call it.

An entry that joins an allow-list needs a case here: `test_expressions` fails without one.
"""

from __future__ import annotations

import re

from discreet.sql.aggregates import SQL_NAMES
from discreet.sql.allowed_functions import FUNCTIONS
from discreet.sql.scalar_expressions import CASTS
from discreet.sql.type_inference import PARTS, UNITS

COLUMNS = ("steps", "whole", "price", "float", "word", "kind", "flag", "day", "near", "time")
NUMBERS = ("steps", "whole", "price", "float")
SIGNS = {"equal": "=", "unequal": "<>", "less": "<", "at_most": "<=", "more": ">", "at_least": ">="}
PAIRS = (
    *("steps {0} price", "whole {0} float", "word {0} 'a'", "word {0} UPPER(word)", "kind {0} 'a'"),
    *("day {0} near", "day {0} '2020-02-29'", "whole {0} 2", "float {0} 0.1", "time {0} time"),
)


def _computed(sign: str) -> tuple[str, ...]:
    pairs = ("steps {0} steps", "whole {0} whole", "price {0} steps", "float {0} float", "float {0} 0.1")
    mixed = ("whole {0} float", "steps {0} 3", "100000 {0} float")
    exact = ("steps {0} 0.1", "price {0} 0.05", "whole {0} 1.005")
    narrow = ("IF(flag, 100000, 0) {0} IF(whole > 0, 99999, 1)",)
    return tuple(each.format(sign) for each in (*pairs, *mixed, *exact, *narrow))


CASES: dict[str, tuple[str, ...]] = {
    "add": _computed("+"),
    "subtract": _computed("-"),
    "multiply": _computed("*"),
    "divide": _computed("/"),
    "modulo": (
        "whole % steps",
        "steps % whole",
        "whole % 7",
        "float % price",
        "price % 0.5",
        "float % 3",
        "whole % 0.7",
        "steps % 0.25",
    ),
    "negate": tuple(f"-{name}" for name in NUMBERS),
    "abs": tuple(f"ABS({name})" for name in NUMBERS),
    "round": (
        *(f"ROUND({name})" for name in NUMBERS),
        *("ROUND(whole * 1.005, 2)", "ROUND(price * 0.05, 3)", "ROUND(steps * 1.005, 2)"),
        *(f"ROUND({name}, {digits})" for name in NUMBERS for digits in (1, 3, -3)),
    ),
    "floor": (*(f"FLOOR({name})" for name in NUMBERS), "FLOOR(whole * 0.1)", "FLOOR(price * 0.5)"),
    "ceil": tuple(f"CEIL({name})" for name in NUMBERS),
    "least": ("LEAST(steps, whole)", "LEAST(float, price, 1)", "LEAST(word, kind)", "LEAST(day, near)"),
    "greatest": (
        "GREATEST(steps, whole)",
        "GREATEST(float, price, 1)",
        "GREATEST(word, kind)",
        "GREATEST(kind, 'a')",
        "GREATEST(day, near)",
    ),
    "coalesce": ("COALESCE(steps, whole)", "COALESCE(float, steps, 0)", "COALESCE(kind, word, '')"),
    "nullif": ("NULLIF(steps, whole)", "NULLIF(float, 0)", "NULLIF(word, 'a')", "NULLIF(kind, 'a')"),
    "case": (
        "CASE WHEN flag THEN steps ELSE float END",
        "CASE WHEN whole > 0 THEN day WHEN flag THEN near END",
    ),
    "switch": (
        "CASE kind WHEN 'a' THEN word WHEN 'b' THEN 'x' END",
        "CASE steps WHEN whole THEN 1 WHEN 0.5 THEN steps ELSE float END",
        "CASE word WHEN kind THEN 1 WHEN 'a' THEN 2 END",
        "CASE day WHEN near THEN flag WHEN '2020-02-29' THEN NOT flag END",
    ),
    **{name: tuple(pair.format(sign) for pair in PAIRS) for name, sign in SIGNS.items()},
    "in": (
        "whole IN (1, 2, 7)",
        "word IN ('a', 'ä', '', 'é', 'a ')",
        "kind IN ('a', '')",
        "float IN (0, 0.5, steps)",
        "day NOT IN ('2020-02-29')",
        "float IN (price, steps)",
    ),
    "between": (
        "whole BETWEEN steps AND 7",
        "word BETWEEN 'A' AND 'a'",
        "float NOT BETWEEN price AND 0.5",
        "day BETWEEN '2020-02-29' AND near",
        "kind BETWEEN 'a' AND 'b'",
    ),
    "is_null": tuple(f"{name} IS {word}NULL" for name in COLUMNS for word in ("", "NOT ")),
    "and": ("flag AND whole > 0", "flag AND NULL", "flag AND TRUE AND float < 1"),
    "or": ("flag OR whole > 0", "flag OR NULL", "flag OR FALSE OR float < 1"),
    "not": ("NOT flag", "NOT (whole > 0)", "NOT (word LIKE 'a%')"),
    "like": (
        *(f"word LIKE '{form}'" for form in ("a%", "%_", "_", "%", "", "a\\b", "\\%", "%''%", "a_b", "%é")),
        "word LIKE word",
        "kind LIKE '%a'",
        "word ILIKE 'A%'",
    ),
    "lower": ("LOWER(word)", "LOWER(kind)"),
    "upper": ("UPPER(word)", "UPPER(kind)"),
    "substr": (
        *(f"SUBSTR(word, {start})" for start in ("2", "-2", "0", "steps", "whole")),
        *(f"SUBSTR(word, {place})" for place in ("1, 2", "-3, 2", "0, 2", "steps, steps", "whole, whole")),
        "LEFT(word, 2)",
    ),
    "length": ("LENGTH(word)", "LENGTH(kind)"),
    "part": tuple(f"EXTRACT({part} FROM {name})" for part in PARTS for name in ("day", "near", "time")),
    "truncate": tuple(f"DATE_TRUNC('{unit}', {name})" for unit in UNITS for name in ("day", "near", "time")),
    "cast": (
        *(f"CAST({name} AS {kind})" for kinds in CASTS.values() for kind in kinds[:1] for name in COLUMNS),
        *(f"CAST(steps AS {kind})" for kinds in CASTS.values() for kind in kinds[1:] if "CHAR" not in kind),
        *(f"CAST(word AS {kind})" for kinds in CASTS.values() for kind in kinds),
        *(f"CAST({name} AS DECIMAL(9, 2))" for name in (*NUMBERS, "word")),
        *("CAST(whole * 0.5 AS VARCHAR)", "CAST(price * 0.01 AS INT)", "CAST(whole AS DECIMAL(38, 20))"),
        *("CAST(word AS DECIMAL(20, 5))", "CAST(price * 0.0000001 AS VARCHAR)"),
        "CAST('7' AS INT) + steps",
        "CAST('x' AS DOUBLE) + steps",
        *(f"COALESCE(CAST('{text}' AS DATE), day)" for text in ("7", "2020-02-30", "2020-02-29")),
        *(f"COALESCE(CAST('{text}' AS TIMESTAMP), time)" for text in ("7", "2020-02-29 23:59:60")),
        "CAST('maybe' AS BOOLEAN) OR flag",
    ),
}
AGGREGATES: dict[str, str] = {
    "COUNT(*)": "COUNT(*)",
    "COUNT(x)": "COUNT(float)",
    "COUNT(DISTINCT x)": "COUNT(DISTINCT word)",
    "COUNT_IF(p)": "COUNT_IF(flag AND whole > 0)",
    "SUM": "SUM(price)",
    "AVG": "AVG(steps * price)",
    "MIN": "MIN(steps)",
    "MAX": "MAX(price)",
    "MEDIAN": "MEDIAN(price)",
    "QUANTILE_CONT": "QUANTILE_CONT(steps, 0.9)",
    "PERCENTILE_CONT": "PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY steps)",
    "VARIANCE": "VARIANCE(price)",
    "VAR_POP": "VAR_POP(steps)",
    "STDDEV": "STDDEV(price)",
    "STDDEV_POP": "STDDEV_POP(steps)",
    "MODE": "MODE(kind)",
    "BOOL_OR": "BOOL_OR(flag AND whole > 0)",
    "BOOL_AND": "BOOL_AND(flag)",
}


def without_a_case() -> set[str]:
    """What the allow-lists have and this list does not, or the other way round."""
    shown = set(re.findall(r"[A-Z_]+(?:\([^)]*\))?", SQL_NAMES))
    return (set(FUNCTIONS) ^ set(CASES)) | (shown ^ set(AGGREGATES))
