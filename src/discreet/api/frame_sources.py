"""Sources of the Python verbs: an open curator, a policy, or a frame with what is declared of its columns.

A frame is the table that a question names after FROM, whatever that name is; other verbs call it `df`. Types,
bounds and values follow from `columns=`, never from the frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from discreet.api.arguments import Names, list_names
from discreet.core.errors import InvalidParameterError, RequestError, shorten_value
from discreet.core.policy import Policy
from discreet.services.curator import Curator
from discreet.services.frames import EXPECTED_FRAME, Frame, is_frame
from discreet.services.policy_values import Columns, PolicyForm, PromiseForm, build_frame_policy
from discreet.sql.query_parser import parse_statement

Source = Curator | PolicyForm | Frame
"""An open curator, a policy (a dict, a `Policy` or its path), or a frame."""
FRAME_NAME = "df"


@dataclass(frozen=True, kw_only=True)
class FrameTerms:
    """The declaration of a frame by the arguments of a verb; a policy declares its tables itself."""

    columns: Columns | None = None
    person: str | None = None
    rows_per_person: int | None = None
    promise: PromiseForm | None = None
    ledger: Path | str | None = None
    data_version: str | None = None

    def refuse_for_policy(self) -> None:
        """Refuse terms that a policy declares."""
        for name in ("columns", "person", "rows_per_person", "promise"):
            if getattr(self, name) is not None:
                raise InvalidParameterError(
                    f"`{name}=` is for a frame; of a policy's table, the policy declares it.",
                    hint="Change the policy, or pass a frame.",
                )


@contextmanager
def open_curator(
    source: Source, analyst: str | None, terms: FrameTerms, *, name: str = FRAME_NAME
) -> Iterator[Curator]:
    """Lend a curator: the one that was given, which stays open, or one for this call.

    `name` is the table that a frame stands for.
    """
    if is_frame(source):
        policy = build_frame_policy(
            name,
            terms.columns,
            person=terms.person,
            rows_per_person=terms.rows_per_person,
            promise=terms.promise,
        )
        with (
            _name_columns_argument(),
            Curator(
                policy, {name: source}, ledger=terms.ledger, data_version=terms.data_version, analyst=analyst
            ) as curator,
        ):
            yield curator
        return
    if not isinstance(source, Curator | Policy | Mapping | str | Path):
        raise InvalidParameterError(
            f"`source=` must be a curator, a policy or its path, or a frame; got {shorten_value(source)}.",
            hint=f"A frame is {EXPECTED_FRAME}.",
        )
    terms.refuse_for_policy()
    if isinstance(source, Curator):
        if analyst not in (None, source.analyst):
            raise RequestError(
                f"The curator is open for {source.analyst}, not for {analyst}.",
                hint="Leave `analyst=` out, or open a curator for that analyst.",
            )
        if terms.ledger is not None or terms.data_version is not None:
            raise InvalidParameterError(
                "`ledger=` and `data_version=` are those of the curator.", hint="Leave them out."
            )
        yield source
    else:
        with Curator(
            source, ledger=terms.ledger, data_version=terms.data_version, analyst=analyst
        ) as curator:
            yield curator


@contextmanager
def _name_columns_argument() -> Iterator[None]:
    """Raise refusals of a column that is not declared with the argument that declares it."""
    try:
        yield
    except RequestError as refusal:
        if "there is no column" not in refusal.message:
            raise
        hint = f"{refusal.hint} Declare it in `columns=` if the frame has it."
        raise type(refusal)(refusal.message, hint=hint) from None


def find_question_table(question: object) -> str:
    """Return the only table that a question names after FROM, whose place the frame takes.

    >>> find_question_table("WITH old AS (SELECT * FROM people WHERE age > 65) SELECT COUNT(*) FROM old")
    'people'
    """
    statement = None
    with suppress(RequestError):  # the planner refuses it, and says why
        statement = parse_statement(question) if isinstance(question, str) else None
    if statement is None:
        return FRAME_NAME
    inner = {each.alias_or_name.lower() for each in statement.find_all(exp.CTE)}
    found = dict.fromkeys(each.name for each in statement.find_all(exp.Table))
    names = [name for name in found if name.lower() not in inner]
    if len({name.lower() for name in names}) > 1:
        raise RequestError(
            f"ask: the question names the tables {', '.join(names)}, and there is one frame.",
            hint="Give several frames to a Curator: `tables={…}`.",
        )
    return names[0] if names else FRAME_NAME


def choose_table(verb: str, source: object, table: str | None) -> str:
    """Return the name of a verb's table, which a frame has by itself."""
    if table is None and not is_frame(source):
        raise InvalidParameterError(f"{verb}: no table is named.", hint="Give its name: `table=`.")
    return FRAME_NAME if table is None else table


def split_columns(
    source: object, columns: Names | Columns | None, *, hidden: str | None = None
) -> tuple[Columns | None, tuple[str, ...] | None]:
    """Return what is declared of a frame's columns, and their names except that of the person.

    For a policy's table there are names alone.
    """
    if isinstance(columns, Mapping):
        return columns, tuple(str(name) for name in columns if name != hidden)
    if is_frame(source):
        raise InvalidParameterError(
            "`columns=` must be a dict that declares the frame's columns, with (low, high) or a list of "
            f"values for each; got {'names' if columns else 'nothing'}."
        )
    return None, None if columns is None else list_names("columns", columns)
