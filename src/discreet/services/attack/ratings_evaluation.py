"""Attacks on published ratings: people of whom a few ratings are known are searched among the records.

Columns     `person`, `title`, `rating` and `date`. By default: the person is the policy's person column, or
            a column named like an identifier; the rating is the only other number, or a column with such a
            name; the date is the only date.
Register    the same columns by the same names, or as `columns` maps them; a column called like a name names
            the victims. If it has the release's own person column, that is the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from discreet.attacks import Scoreboard
from discreet.attacks.rating_tables import RatingColumns, RatingTables, read_rating_tables
from discreet.belief.wording import format_number, format_percent
from discreet.core.column_entry import ColumnType, Role
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import AttackEvaluation, AttackRun, apply_bounds, skip_other_attacks
from discreet.services.attack.table_evaluation import find_name_column
from discreet.services.attack.target_release import compute_sha256
from discreet.services.policies import load_policy
from discreet.services.policy_draft.column_roles import guess_role
from discreet.services.progress import ProgressCallback
from discreet.services.publishers import open_publisher
from discreet.services.source_tables import build_file_table, choose_engine, read_engine_schema

RATING_NAMES = ("rating", "stars", "score", "grade")
NUMERIC_TYPES, DATE_TYPES = (ColumnType.INTEGER, ColumnType.DECIMAL), (ColumnType.DATE, ColumnType.TIMESTAMP)
ColumnTypes = Mapping[str, ColumnType | None]


def attack_ratings(request: AttackRequest, report_progress: ProgressCallback) -> AttackEvaluation:
    """Search the records of everybody with known ratings."""
    if request.knows is None:
        raise RequestError(
            "attack: no table of known ratings is given.",
            hint="Name a table of them with `knows=`: a name, a title, a rating and a date in each row.",
        )
    policy = None if request.policy is None else load_policy(request.policy, engine=request.engine)
    address = choose_engine(policy, request.engine)
    name, register = Path(request.release).name, f"the register {Path(request.knows).name}"
    tables = {
        name: build_file_table(request.release, {}, engine=address),
        register: build_file_table(request.knows, {}, engine=address),
    }
    shown = _resolve_release_columns(
        request, policy, name, dict(read_engine_schema(address, request.release)[1])
    )
    told = _resolve_register_columns(request, shown, register, tables[register])
    shown = replace(shown, rating=told.rating and shown.rating, date=told.date and shown.date)
    with open_publisher(address, tables) as engine:
        report_progress("reading ratings")
        heard = read_rating_tables(engine, shown, told, request.victim)
    report_progress("looking for their records")
    attack = _build_attack(request, shown, heard)
    run = AttackRun(findings=attack.run(heard.released, heard.known))
    return AttackEvaluation(
        subject=name,
        knowledge=f"{heard.known.victim.size:,} ratings of {_count_people_text(heard)}, from {register}",
        runs=apply_bounds([run], request.bounds),
        skipped=skip_other_attacks(Scoreboard),
        assumptions=tuple(_list_assumptions(request, attack, shown, told, heard)),
        sha256=compute_sha256(tables[name].source),
        policy=policy,
    )


def _count_people_text(rating_tables: RatingTables) -> str:
    number = rating_tables.known.victim_count
    return "1 person" if number == 1 else f"{number:,} people"


def _resolve_release_columns(
    request: AttackRequest, policy: Policy | None, name: str, column_types: ColumnTypes
) -> RatingColumns:
    """Return the roles of the release's columns."""
    assert request.title is not None
    given = {"title": request.title, "person": request.person, "rating": request.rating, "date": request.date}
    for column in given.values():
        if column is not None and column not in column_types:
            raise RequestError(
                f"attack: {name} has no column {column}.", hint=f"It has {', '.join(column_types)}."
            )
    person = request.person or _find_person_column(request, policy, column_types)
    if person is None:
        raise RequestError(
            f"attack: no column of {name} is known to identify people.",
            hint="Name it with `person=`.",
        )
    left = {column: kind for column, kind in column_types.items() if column not in (*given.values(), person)}
    return RatingColumns(
        table=name,
        person=person,
        title=request.title,
        rating=request.rating or _find_sole_column(left, NUMERIC_TYPES, RATING_NAMES),
        date=request.date or _find_sole_column(left, DATE_TYPES, ()),
    )


def _find_person_column(
    request: AttackRequest, policy: Policy | None, column_types: ColumnTypes
) -> str | None:
    """Return the policy's person column if the release has it, else a column named like an identifier."""
    tables: list[Table] = []
    if policy is not None:
        named = [request.table] if request.table in policy.tables else list(policy.tables)
        tables = [policy.tables[each] for each in named]
    declared = [each.person_column for each in tables if each.person_column in column_types]
    called = [each for each in column_types if each != request.title and guess_role(each) is Role.IDENTIFIER]
    return next((each for each in (*declared, *called) if each is not None), None)


def _find_sole_column(
    column_types: ColumnTypes, types: tuple[ColumnType, ...], usual_names: tuple[str, ...]
) -> str | None:
    found = [name for name, kind in column_types.items() if kind in types]
    named = [name for name in column_types if name.lower() in usual_names]
    return named[0] if len(named) == 1 else found[0] if len(found) == 1 else None


def _resolve_register_columns(
    request: AttackRequest, release_columns: RatingColumns, register: str, table: Table
) -> RatingColumns:
    """Return the roles of the register's columns."""
    called = request.columns
    compared = (release_columns.title, release_columns.rating, release_columns.date)
    unknown = [name for name in called if name not in (*compared, release_columns.person)]
    if unknown:
        compared = (release_columns.title, release_columns.rating, release_columns.date)
        raise RequestError(
            f"attack: `columns=` names {unknown[0]}, which is not compared.",
            hint=f"Compared are {', '.join(filter(None, compared))}.",
        )

    def find_register_column(name: str | None) -> str | None:
        column = None if name is None else called.get(name, name)
        return column if column in table.columns or name in called else None

    title = find_register_column(release_columns.title)
    if title is None:
        raise RequestError(
            f"attack: {register} has no column {release_columns.title}.",
            hint=f'Name the column of the register: `columns="{release_columns.title}=NAME"`. '
            f"It has {', '.join(table.columns)}.",
        )
    truth = find_register_column(release_columns.person)
    others = {name: column for name, column in table.columns.items() if name not in (title, truth)}
    return RatingColumns(
        table=register,
        title=title,
        person=find_name_column(others) or truth,
        rating=find_register_column(release_columns.rating),
        date=find_register_column(release_columns.date),
        truth=truth,
    )


def _build_attack(
    request: AttackRequest, release_columns: RatingColumns, rating_tables: RatingTables
) -> Scoreboard:
    default = Scoreboard()
    stars = request.stars or 0.0
    if request.stars is not None and rating_tables.steps_per_star is None:
        raise RequestError(
            "attack: `stars=` applies to numeric ratings, and none are compared.",
            hint="Leave it out, or name the column with `rating=`.",
        )
    days = default.days if request.days is None else request.days
    return Scoreboard(
        days=None if release_columns.date is None else days,
        stars=None
        if release_columns.rating is None
        else int(stars * (rating_tables.steps_per_star or 1) + 1e-9),
        wrong=default.wrong if request.wrong is None else request.wrong,
    )


def _list_assumptions(
    request: AttackRequest,
    attack: Scoreboard,
    release_columns: RatingColumns,
    register_columns: RatingColumns,
    rating_tables: RatingTables,
) -> list[str]:
    near = [
        "Titles are compared, ratings and dates are not."
        if release_columns.rating is None and release_columns.date is None
        else "Titles, ratings and dates are compared."
        if release_columns.rating is not None and release_columns.date is not None
        else f"Titles and {'ratings' if release_columns.date is None else 'dates'} are compared, "
        "and nothing else."
    ]
    if release_columns.rating is not None:
        near.append(f"Ratings may be off by {format_number(request.stars or 0)}.")
    if release_columns.date is not None:
        near.append(f"Dates may be off by {attack.days} days.")
    scored = (
        f"Guesses are scored by {register_columns.truth} of the register, which attackers do not have."
        if register_columns.truth is not None
        else "The true records are unknown: a match is assumed right as often as it is believed."
    )
    left = [
        f"{number:,} rows of {table} were left out: something is missing, or the release lacks the title."
        for number, table in (
            (rating_tables.dropped_rows, release_columns.table),
            (rating_tables.dropped_known_rows, register_columns.table),
        )
        if number
    ]
    return [
        " ".join(near),
        f"Attackers allow for {format_percent(attack.wrong)} of what they know about a person to be wrong, "
        f"and believe with {format_percent(attack.present)} that the person is in the release.",
        scored,
        *left,
    ]
