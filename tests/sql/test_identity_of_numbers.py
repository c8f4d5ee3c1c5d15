"""Measurements of one identity have one true value, whatever the data: else a stored one answers wrongly.

Random questions over small tables that are full of what a policy does not declare, each with respellings of
it: some mean the same, some nearly the same. All numbers of one identity are compared, in every table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import pytest
from sqlglot import exp, parse_one

from discreet.core.neighbor_relations import Relation
from discreet.sql.core_planning import CorePlan
from tests.sql.claims import World
from tests.sql.questions import NUMERALS, question
from tests.sql.tables import extremes, neighbours

DAY, NIGHT = 50, 2_000
VARIANTS = 3
MOST_GROUPS = 500  # of a question that is compared: some have a million
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.GT: exp.LT,
    exp.LTE: exp.GTE,
    exp.GTE: exp.LTE,
}
Numbers = tuple[tuple[tuple[tuple[str, ...], int], ...], ...]
"""The numbers of a primitive in each table, with the keys of their groups."""


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[World]]:
    folder = tmp_path_factory.mktemp("worlds")
    states = [extremes()[0][1], *(neighbours(Random(seed).choice, Relation.VALUE) for seed in range(2))]
    made = [World.of(each, Relation.VALUE, folder) for each in states]
    yield made
    for each in made:
        each.close()


def respell(text: str, random: Random) -> str:
    """Return a question with some of its nodes spelled otherwise, or slightly changed."""
    tree = parse_one(text, read="duckdb")
    for _ in range(random.choice((1, 1, 2))):
        places = [each for each in tree.walk() if isinstance(each, (*COMPARISONS, *RESPELLED))]
        if places:
            node = random.choice(places)
            node.replace(_respell_node(node.copy(), random))
    return tree.sql("duckdb")


RESPELLED = (exp.And, exp.Or, exp.Between, exp.In, exp.Not, exp.Literal, exp.Add, exp.Mul, exp.Count)


def _respell_node(node: exp.Expr, random: Random) -> exp.Expr:
    if isinstance(node, exp.Literal):
        return node if node.is_string else parse_one(random.choice(NUMERALS), read="duckdb")
    if isinstance(node, exp.Between):
        low, high = (
            kind(this=node.this.copy(), expression=node.args[end])
            for kind, end in ((exp.GTE, "low"), (exp.LTE, "high"))
        )
        return exp.paren(exp.And(this=low, expression=high))
    if isinstance(node, exp.In):
        return exp.paren(
            exp.or_(*(exp.EQ(this=node.this.copy(), expression=each) for each in node.expressions))
        )
    if isinstance(node, exp.Not):
        return exp.paren(exp.Not(this=exp.paren(exp.Not(this=node))))
    if isinstance(node, exp.Count):
        return exp.Count(this=exp.Literal.number(1)) if isinstance(node.this, exp.Star) else node
    sides = {"this": exp.paren(node.expression), "expression": exp.paren(node.this)}
    if isinstance(node, COMPARISONS) and random.choice((True, False)):
        return random.choice(COMPARISONS)(**node.args)
    if isinstance(node, exp.And | exp.Or) and random.choice((True, False)):
        return random.choice((exp.And, exp.Or))(**node.args)
    return FLIPPED.get(type(node), type(node))(**sides)


@dataclass
class KnownNumbers:
    """The numbers of each identity that was met, and the question that it was met in."""

    worlds: list[World]
    shared: int = 0
    _known: dict[str, tuple[Numbers, str]] = field(default_factory=dict)

    def compare(self, text: str) -> None:
        """Require that the measurements of a question are those of their identities."""
        plan = self.worlds[0].plan(text, tail=0)
        for core in () if plan is None else plan.cores:
            if not core.noisy_primitives or (core.group_count or 0) > MOST_GROUPS:
                continue
            for name, numbers in self._count(core).items():
                known, before = self._known.setdefault(core.identities[name].text, (numbers, text))
                assert known == numbers, (before, text)
                self.shared += before != text

    def _count(self, core: CorePlan) -> dict[str, Numbers]:
        names = core.identity.key_identities
        keys = sorted(names, key=lambda name: names[name])
        tables = [engine.count(core.statement).secret for world in self.worlds for engine in world.engines]
        return {
            name: tuple(
                tuple(
                    sorted(
                        (tuple(map(str, row[:-1])), row[-1])
                        for row in zip(*(table[each].to_pylist() for each in (*keys, name)), strict=True)
                    )
                )
                for table in tables
            )
            for name in core.noisy_primitives
        }


def compare_respellings(worlds: list[World], seed: int, count: int) -> KnownNumbers:
    random, known = Random(seed), KnownNumbers(worlds)
    for _ in range(count):
        text = question(random.choice)
        for each in [text, *(respell(text, random) for _ in range(VARIANTS))]:
            known.compare(each)
    return known


def test_numbers_of_one_identity_are_equal(worlds: list[World]) -> None:
    assert compare_respellings(worlds, 1, DAY).shared > DAY / 4


@pytest.mark.night
def test_numbers_of_one_identity_are_equal_in_many_questions(worlds: list[World]) -> None:
    assert compare_respellings(worlds, 2, NIGHT).shared > NIGHT / 4


def test_identities_that_forget_the_predicate_are_caught(
    worlds: list[World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "discreet.sql.measurement_identity._filter_rows", lambda rows, condition: rows, raising=True
    )
    with pytest.raises(AssertionError):
        compare_respellings(worlds, 1, DAY)
