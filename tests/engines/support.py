"""What each engine does, and the test that shows it: the table of docs/scale.md.

To write it anew: python -m tests.engines.support
"""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "scale.md"
ENGINES = ("DuckDB", "PostgreSQL", "Spark")
PLACE = re.compile(r"(<!-- support -->\n).*(<!-- /support -->)", re.S)
SHOWN: dict[str, tuple[str, dict[str, str]]] = {
    "every aggregate, function and join of `ask`": (
        "test_conformance.py::test_every_question_is_counted_alike",
        {"PostgreSQL": "but for `%` of numbers that are not whole"},
    ),
    "every kind of column, whatever it holds": (
        "test_hostile.py::test_whatever_a_table_holds_is_stored_alike",
        {"PostgreSQL": "text such as `0x1` is no number", "Spark": "text such as `0x1` is no number"},
    ),
    "bounding people, without a store and with one": (
        "test_asking.py::test_a_person_keeps_as_many_rows_as_the_policy_says",
        {},
    ),
    "neighbours stay within the sensitivity": (
        "test_hostile.py::test_whoever_leaves_moves_no_count_further_than_the_plan_says",
        {},
    ),
    "`ask` end to end": ("test_asking.py::test_ask_answers_what_is_there_within_each_persons_bound", {}),
    "counts that `mine` learns from": (
        "test_mining.py::test_every_engine_counts_what_the_rows_at_hand_count",
        {},
    ),
    "`mine tree` end to end": (
        "test_mining.py::test_the_same_coins_grow_the_same_tree_on_every_engine",
        {},
    ),
    "`collect estimate`, of every kind of reports": (
        "test_collecting.py::test_reports_are_counted_alike_wherever_they_stand",
        {},
    ),
    "`anonymize`, to a file": (
        "test_publishing.py::test_the_same_rows_and_certificate_are_published_on_every_engine",
        {"Spark": "what fits in memory"},
    ),
    "`anonymize`, to a table of the engine": (
        "test_publishing.py::test_a_release_may_stay_in_the_engine_and_be_attacked_there",
        {"DuckDB": "of a `.duckdb` file", "PostgreSQL": "in the store's schema", "Spark": "or a folder"},
    ),
    "people, pseudonyms and chains of releases": (
        "test_publishing.py::test_people_pseudonyms_and_chains_are_as_they_are_here",
        {},
    ),
    "`attack` of a published table": (
        "test_publishing.py::test_an_attack_finds_on_every_engine_what_it_finds_on_files",
        {},
    ),
    "`collect randomize` of values and numbers": (
        "test_collecting.py::test_answers_are_looked_up_alike_and_charged_wherever_they_stand",
        {},
    ),
    "baskets, `collect mine`, `attack` of answers, ratings, genomes and synthetic tables": (
        "",
        {"PostgreSQL": "not yet", "Spark": "not yet"},
    ),
}


def table() -> str:
    lines = [f"| | {' | '.join(ENGINES)} |", "|---|---|---|---|"]
    for what, (_, but) in SHOWN.items():
        lines.append(f"| {what} | {' | '.join(but.get(engine, 'yes') for engine in ENGINES)} |")
    return "\n".join(lines) + "\n"


def guide(text: str) -> str:
    """The guide with the table in its place."""
    return PLACE.sub(lambda found: found[1] + table() + found[2], text)


if __name__ == "__main__":
    GUIDE.write_text(guide(GUIDE.read_text()))
