"""A report section on a differentially private deployment, in the order of NIST SP 800-226.

It is built from policy and ledger alone: first the promise (unit, neighbors, epsilon and what it allows,
delta), then what it rests on (bounds, mechanisms, side channels), the trust model, and the spent budget.

[NIST800-226] Near, Darais, Lefkovitz & Howarth, Guidelines for Evaluating Differential Privacy Guarantees.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.accounting.amounts import format_amount, format_remaining
from discreet.accounting.ledger import Ledger
from discreet.belief import Promise, compute_belief
from discreet.belief.wording import ATTACKER, format_chance, format_number, format_percent, format_percent_up
from discreet.core.column_entry import Role
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.rendering.report_document import DocumentPart, Grid, Paragraph, Section

TITLE = "The deployment, in the order of NIST SP 800-226"
PRIORS = (0.001, 0.01, 0.1, 0.5)
NEIGHBOR_RELATIONS = {
    Relation.VALUE: "replace-one: two tables that differ in what one person's record says. Who is in the "
    "data is not hidden.",
    Relation.PRESENCE: "add or remove: two tables of which one has a person more. What a record says is "
    "bounded by twice the loss.",
}
TRUST_MODEL = (
    "central: the custodian holds the records and is trusted with them; so is the machine that counts. "
    "Analysts and everybody to whom they show answers are not. Records are not protected from the custodian."
)
MECHANISMS = (
    "integer noise (discrete Laplace; discrete Gaussian where the promise has a tail) on sums of integers, "
    "values clamped to the declared bounds before they are added; ranks and modes by a random choice among "
    "declared values"
)
SIDE_CHANNELS = (
    ("floating point", "none: noise and sums are integers, coins compare integers"),
    ("randomness", "the operating system's; no seed can be set"),
    ("errors, schemas, plans", "depend on question and policy alone, never on data"),
    ("faults", "show a constant text and suspend the analyst; listed in the ledger"),
    ("repeated questions", "get the stored answer and cost nothing"),
    ("time", "how long an answer takes is not hidden: it may depend on data"),
)


def build_deployment_section(policy: Policy, ledger: Ledger) -> Section:
    """Return the deployment section of a report."""
    promise = ledger.promise
    facts = tuple(_list_facts(policy, promise))
    return Section(
        title=TITLE,
        parts=(
            Grid(head=("what", "how it is here"), rows=facts),
            _build_beliefs_grid(promise),
            _build_tables_grid(policy),
            Grid(head=("side channel", "what becomes of it"), rows=SIDE_CHANNELS),
            *_build_budget_parts(policy, ledger),
        ),
    )


def _list_facts(policy: Policy, promise: Promise) -> Iterator[tuple[str, str]]:
    several = f", for any {promise.group} people together" if promise.group > 1 else ""
    yield (
        "promise",
        f"from {format_percent(promise.prior)} to at most {format_percent(promise.posterior)}{several}",
    )
    yield "unit of privacy", "one person; see below what that is in each table"
    yield "neighbours", NEIGHBOR_RELATIONS[promise.secret]
    share = "" if promise.group == 1 else f" of each person (ln gamma / {promise.group})"
    yield "epsilon", f"{format_number(promise.epsilon, 5)}{share}, over everything that is ever answered"
    tail = (
        "; the chance that a posterior passes the promised one is at most "
        f"{format_chance(promise.tail)} a person"
    )
    yield (
        "delta",
        "0: the bound has no exceptions" if promise.tail == 0 else f"accounted by concentrated DP{tail}",
    )
    yield (
        "attacker",
        f"{ATTACKER}; may be anybody who sees answers",
    )
    yield "mechanisms", MECHANISMS
    yield (
        "composition",
        "a privacy filter: questions and budgets may be chosen after seeing answers; a new data version does "
        "not reset it",
    )
    yield "trust", TRUST_MODEL
    yield "data version", policy.data_version


def _build_beliefs_grid(promise: Promise) -> Grid:
    priors = sorted({*PRIORS, promise.prior})
    rows = tuple(
        (format_percent(prior), format_percent_up(compute_belief(prior, promise.loss).highest))
        for prior in priors
    )
    caption = (
        "What epsilon allows: a claim about one person that was believed so far may be believed so far after"
    )
    return Grid(head=("before", "after, at most"), rows=rows, caption=caption, numbers=(0, 1))


def _build_tables_grid(policy: Policy) -> Grid:
    rows = tuple(
        (name, _describe_unit(table), _describe_bounds(table)) for name, table in policy.tables.items()
    )
    return Grid(head=("table", "one person is", "public bounds, from the policy"), rows=rows)


def _describe_unit(table: Table) -> str:
    if table.person == "none":
        return "nobody: a public table"
    if table.person == "row":
        return "one row"
    who = (
        f"all rows with the same {table.person_column}"
        if table.person_column is not None
        else f"found through {table.person_link}"
    )
    groups = "" if table.groups_per_person is None else f", in at most {table.groups_per_person} groups"
    return f"{who}; at most {table.rows_per_person} rows count{groups}"


def _describe_bounds(table: Table) -> str:
    said = []
    for name, column in table.columns.items():
        if column.role is Role.IDENTIFIER:
            said.append(f"{name} never leaves")
        elif column.low is not None:
            said.append(f"{name} from {column.low} to {column.high}")
        elif column.values is not None:
            said.append(f"{name} one of {len(column.values)}")
    return "; ".join(said) or "none declared"


def _build_budget_parts(policy: Policy, ledger: Ledger) -> Iterator[DocumentPart]:
    entries, releases = ledger.list_entries(), ledger.list_releases()
    rows = [
        (
            each.analyst,
            format_percent(float(each.share)),
            format_amount(each.spent, up=True),
            format_remaining(each.left),
        )
        for each in ledger.list_accounts()
    ]
    rows.append(
        (
            "in all",
            "100%",
            format_amount(ledger.get_total_spent(), up=True),
            format_remaining(ledger.get_remaining_budget()),
        )
    )
    yield Grid(
        head=("analyst", "share", "spent", "left"),
        rows=tuple(rows),
        caption=f"Budget, after {len(entries):,} charged questions",
        numbers=(1, 2, 3),
    )
    yield Paragraph(text=ledger.describe_belief(), tone="bad" if releases else "")
