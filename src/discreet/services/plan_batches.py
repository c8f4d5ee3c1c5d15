"""Several questions that are planned together: one price, in which equal measurements count once.

Price       What is missing for any of them is measured once, at the least noise that one of them asks for;
            the others are answered from that. A question that compares rows with an answer is measured after
            the others, and its own part is charged then.
Shown       All questions were fixed before any answer was seen. So none widens another's intervals, as a
            question that follows an answer does.
Reservation The sum has to fit before anything is charged. What the others need is one entry; a question
            that compares rows with an answer adds one, and never more than was stated.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.belief.wording import format_number
from discreet.core.guarantees import Guarantee
from discreet.core.html_summary import build_facts, build_summary, build_table
from discreet.services.budget_units import format_share
from discreet.services.found_measurements import FoundMeasurements
from discreet.services.plan_price import PlanPrice
from discreet.services.plans import Plan
from discreet.services.question_request import Reuse
from discreet.services.stored_measurements import STATEMENT_SEPARATOR
from discreet.sql.planner import combine_guarantees
from discreet.sql.released_constants import find_open_constants

if TYPE_CHECKING:
    from discreet.services.measurement_store import MeasurementStore
    from discreet.sql.core_planning import CorePlan

MAX_QUESTIONS = 100


@dataclass(frozen=True, kw_only=True)
class BatchPart:
    """The measurements of one question of a batch: those that no other question measures better."""

    plan: Plan
    found: FoundMeasurements
    names: tuple[str, ...]
    later_names: tuple[str, ...]
    """What is measured after the answers are known that its rows are compared with."""

    @property
    def charge(self) -> tuple[Fraction, Guarantee | None]:
        """The epsilon and the guarantee of its part of the batch."""
        names = (*self.names, *self.later_names)
        return self.plan.query_plan.compute_charge(names) if names else (Fraction(0), None)


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanBatch(PlanPrice):
    """The plan of several questions: one price, and the belief after all of them.

    `plans` are those of the questions; `charges` are their parts of the price, `costs_alone` their prices
    one by one. `fits` is whether the remaining budget allows all of them, `share` the share of the promise.
    `finer_statements` are answered from finer counts, which cost less than each of them.
    """

    plans: tuple[Plan, ...]
    parts: tuple[BatchPart, ...] = field(repr=False)
    charges: tuple[Fraction, ...]
    costs_alone: tuple[float, ...]
    finer_statements: frozenset[int] = frozenset()

    @property
    def text(self) -> str:
        """The questions as the ledger records them."""
        return STATEMENT_SEPARATOR.join(plan.text for plan in self.plans)

    @property
    def cost(self) -> float:
        """The epsilon that is charged for all questions."""
        return float(sum(self.charges))

    @property
    def cost_alone(self) -> float:
        """The sum of what the questions would cost one by one, if none knew of the others."""
        return math.fsum(self.costs_alone)

    def __repr__(self) -> str:
        return f"<PlanBatch of {len(self.plans)} questions: {self.cost_sentence}>"

    def _repr_html_(self) -> str:
        rows = [
            [str(place), plan.text, self.describe_charge(place - 1)]
            for place, plan in enumerate(self.plans, 1)
        ]
        table = build_table(["", "question", "cost"], rows, caption="Plan")
        return build_summary(table, build_facts(self.list_facts()))

    def describe_charge(self, place: int) -> str:
        """Return the part of the price of a question, in a few words."""
        finer = ", for finer counts that others are sums of" if place in self.finer_statements else ""
        if self.charges[place]:
            return f"epsilon {format_number(float(self.charges[place]))}{finer}"
        plan = self.plans[place]
        return plan.cost_sentence if plan.repeated else "nothing: another question here measures it"

    def list_facts(self) -> list[tuple[str, str]]:
        """Return cost and belief before and after, each with its name."""
        posterior = self.plans[0].query_plan.promise.posterior
        return [("cost", self.cost_sentence), *self._list_belief_facts(posterior)]

    @property
    def cost_sentence(self) -> str:
        """The cost of all questions in epsilon and as a share of the promise, in a few words."""
        if self.repeated:
            return "nothing: everything that they need was released before"
        promise, share = self.plans[0].query_plan.promise, format_share(self.share, up=True)
        whole = f" of {format_number(promise.epsilon)}" if promise.tail == 0 else ""
        alone = "" if self.cost >= self.cost_alone else f"; one by one {format_number(self.cost_alone)}"
        return f"epsilon {format_number(self.cost)}{whole}, {share} of the promise{alone}"

    def to_json(self) -> dict[str, object]:
        """Return the plan as a JSON object; `epsilon` of a statement is its part of the price."""
        return {
            "epsilon": self.cost,
            "epsilon_alone": self.cost_alone,
            "of": self.plans[0].query_plan.promise.epsilon,
            "share": float(self.share),
            "repeated": self.repeated,
            "fits": self.fits,
            "belief": self._belief_to_json(),
            "statements": [
                {
                    **plan.to_json(),
                    "sql": plan.text,
                    "epsilon": float(charge),
                    "epsilon_alone": self.costs_alone[place],
                    "finer_counts": place in self.finer_statements,
                }
                for place, (plan, charge) in enumerate(zip(self.plans, self.charges, strict=True))
            ],
        }


def divide_measurements(plans: Sequence[Plan], store: MeasurementStore) -> tuple[BatchPart, ...]:
    """Return what is measured for each question: each measurement once, with the least noise of all."""
    found = [_find_missing(each, store) for each in plans]
    statements = [store.constants.identify_statement(each.query_plan) for each in plans]
    winners: dict[Hashable, tuple[float, int]] = {}
    for place, each in enumerate(found):
        for core, names in _list_missing(each):
            for group in _group_charges(statements[place], each, core, names):
                rank = max(_rank_noise(each, core, name) for name in group.names)
                if group.key not in winners or rank < winners[group.key][0]:
                    winners[group.key] = (rank, place)
    return tuple(
        _make_part(
            plan,
            own,
            statements[place],
            {key for key, (_, winner) in winners.items() if winner == place},
        )
        for place, (plan, own) in enumerate(zip(plans, found, strict=True))
    )


def _find_missing(plan: Plan, store: MeasurementStore) -> FoundMeasurements:
    found = store.find(plan.query_plan, plan.text, plan.reuse, bought=plan.bought)
    # what an earlier version stored is no measurement, and serves
    return found if plan.missing else replace(found, missing=())


def _make_part(plan: Plan, found: FoundMeasurements, statement: str, won: set[Hashable]) -> BatchPart:
    """Return the part of a question that measures what it won."""
    names: list[str] = []
    later: list[str] = []
    for core, missing in _list_missing(found):
        for group in _group_charges(statement, found, core, missing):
            if group.key in won:
                (later if find_open_constants(core.question) else names).extend(group.names)
                won = won - {group.key}  # two cores of one statement may be the same in other words
    return BatchPart(plan=plan, found=found, names=tuple(names), later_names=tuple(later))


def _list_missing(found: FoundMeasurements) -> list[tuple[CorePlan, list[str]]]:
    return [(core, [name for name in core.charged_names if name in found.missing]) for core in found.cores]


@dataclass(frozen=True)
class _Group:
    """Measurements that are measured together or not at all, and what is equal for equal ones."""

    key: Hashable
    names: tuple[str, ...]


def _group_charges(
    statement: str, found: FoundMeasurements, core: CorePlan, names: Sequence[str]
) -> list[_Group]:
    """Return what is missing of a core: each measurement, or all where it chooses groups or rows."""
    if not names:
        return []
    if find_open_constants(core.question):
        return [_Group((statement, core.table), tuple(names))]
    if core.partition_selection is not None:
        return [_Group(tuple(sorted(found.identities[name] for name in names)), tuple(names))]
    keys: dict[Hashable, str] = {}
    for name in names:
        keys.setdefault(found.identities[name], name)
    return [_Group(key, (name,)) for key, name in keys.items()]


def _rank_noise(found: FoundMeasurements, core: CorePlan, name: str) -> float:
    if name in core.value_selections:
        return 1 / float(core.value_selections[name].guarantee.epsilon)
    return float(found.get_measured_core(core).noisy_primitives[name].noise.variance)


def combine_parts(parts: Sequence[BatchPart]) -> Guarantee | None:
    """Return the guarantee of all that is measured for a batch; None if everything is stored."""
    guarantees = [guarantee for _, guarantee in (each.charge for each in parts) if guarantee is not None]
    return combine_guarantees(guarantees, parts[0].plan.query_plan.promise) if guarantees else None


def find_after(part: BatchPart, store: MeasurementStore) -> FoundMeasurements:
    """Return what serves a question of a batch once everything else is measured: nothing is charged again.

    Of a question that compares rows with an answer, what was planned is measured now, unless what is stored
    is as precise: a sum of many cells that another question measured may be far less so.
    """
    plan = part.plan
    if part.later_names and plan.reuse is not Reuse.NOTHING:
        return store.find(plan.query_plan, plan.text, plan.reuse, bought=plan.bought - {*part.names})
    found = store.find(plan.query_plan, plan.text, Reuse.ANY if plan.bought else plan.reuse)
    return store.find(plan.query_plan, plan.text, Reuse.ANY) if found.missing else found
