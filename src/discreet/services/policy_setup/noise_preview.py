"""The noise that a table's form leads to, before it is saved: planned from what is typed, never from data.

The errors are those of `plan`, of questions for a group of `GROUP_ROWS` rows. Columns that cannot be planned
yet are left out; the sentence about each field says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discreet.belief.wording import format_number, format_number_up
from discreet.core.column_entry import BOUNDS, Role
from discreet.core.errors import DiscreetError
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.services.plans import compute_expected_errors
from discreet.services.policies import get_promise, parse_policy_tree
from discreet.services.policy_setup.form_fields import TYPES_BY_ENTRY
from discreet.services.policy_setup.table_form import TableForm, fill_tree
from discreet.services.yaml_reader import YamlTree
from discreet.sql.planner import plan_query

GROUP_ROWS = 1_000
MAX_COLUMNS = 12
NUMBERS = TYPES_BY_ENTRY["scale"]


@dataclass(frozen=True, kw_only=True)
class NoisePreview:
    """The errors of some questions at one epsilon; `hint` says what is missing if there are none."""

    epsilon: str = ""
    lines: tuple[str, ...] = ()
    hint: str = ""

    @property
    def sentence(self) -> str:
        """Everything in one sentence."""
        if not self.lines:
            return self.hint
        told = ", ".join(self.lines)
        return f"{told} for a group of {GROUP_ROWS:,} rows, at epsilon {self.epsilon} per question."


def preview_noise(form: TableForm, tree: Mapping[str, YamlTree]) -> NoisePreview:
    """Return the noise of counts and means under the form's entries, as far as they can be read."""
    if not form.entries.get("person", "").strip():
        return NoisePreview(hint="Name the column of the person, and the noise of answers is shown here.")
    policy = _build_policy(form, tree)
    if policy is None:
        return NoisePreview(hint="The noise of answers is shown here when the entries can be read.")
    if form.entries["person"] == "none":
        return NoisePreview(hint="A table without people is read as it is, without noise, and only in joins.")
    epsilon = policy.epsilon or 0.1
    try:
        lines = tuple(_describe_errors(form.table, policy, epsilon))
    except DiscreetError as refusal:
        return NoisePreview(hint=refusal.message.removeprefix("ask: "))
    return NoisePreview(epsilon=format_number(epsilon), lines=lines)


def _build_policy(form: TableForm, tree: Mapping[str, YamlTree]) -> Policy | None:
    """Return the policy of a form with those of its columns that can be read; None if that is not enough."""
    policy, problems = parse_policy_tree(fill_tree(form, tree))
    if policy is None or problems:
        # a column that is not filled in yet must not hide what is known of the others
        wrong = {
            path[3] for path, _ in problems if path[:3] == ("tables", form.table, "columns") and path[3:]
        }
        columns = tuple(each for each in form.columns if each.name not in wrong)
        if not wrong or not columns:
            return None
        policy, problems = parse_policy_tree(fill_tree(form.model_copy(update={"columns": columns}), tree))
    return None if problems else policy


def _describe_errors(name: str, policy: Policy, epsilon: float) -> Iterator[str]:
    table = policy.tables[name]
    yield f"COUNT {_plan_error(policy, f'SELECT COUNT(*) AS n FROM {name}', epsilon)}"
    numbers = [
        column
        for column, entry in table.columns.items()
        if entry.type in NUMBERS and entry.type in BOUNDS and entry.low is not None
        if entry.role is not Role.IDENTIFIER and column != table.person_column
    ]
    for column in numbers[:MAX_COLUMNS]:
        sql = f"SELECT AVG({quote_identifier(column)}) AS n FROM {name}"
        yield f"mean of {column} {_plan_error(policy, sql, epsilon)}"


def _plan_error(policy: Policy, sql: str, epsilon: float) -> str:
    plan = plan_query(sql, policy, get_promise(policy), epsilon=epsilon, least_rows=GROUP_ROWS)
    (error,) = compute_expected_errors(plan)
    return f"± {format_number_up(error.error95)}" if error.error95 is not None else "with an unknown error"
