"""Attacks on published ratings: people of whom a few ratings are known are searched among the records.

Columns     --person, --title, --rating and --date. By default: the person is the policy's person column, or
            a column named like an identifier; the rating is the only other number, or a column with such a
            name; the date is the only date.
Register    the same columns by the same names, or as --column maps them; a column called like a name names
            the victims. If it has the release's own person column, that is the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from discreet.app.drafting.roles import likely_role
from discreet.app.policies import load
from discreet.app.publishers import publisher
from discreet.app.publishing.table_request import build_file_table, choose_engine, read_engine_schema
from discreet.app.trials.attacked import digest_of
from discreet.app.trials.knowledge import person_of
from discreet.app.trials.request import Request
from discreet.app.trials.skipping import others_than
from discreet.app.trials.trial import Run, Trial, judged
from discreet.attacks import Scoreboard
from discreet.attacks.rated import Heard, Rated, read
from discreet.belief.wording import format_percent
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_number, parse_probability
from discreet.core.policy import ColumnType, Policy, Role, Table

RATINGS = ("rating", "stars", "score", "grade")
NUMBERS, TIMES = (ColumnType.INTEGER, ColumnType.DECIMAL), (ColumnType.DATE, ColumnType.TIMESTAMP)
Tell = Callable[[str], None]
Kinds = Mapping[str, ColumnType | None]


def attack_ratings(request: Request, tell: Tell) -> tuple[Trial, Policy | None]:
    """Search the records of everybody with known ratings."""
    if request.knows is None:
        raise RequestError(
            "attack: no table of known ratings is given.",
            hint="Name a table of them with --knows: a name, a title, a rating and a date in each row.",
        )
    policy = None if request.policy is None else load(request.policy, engine=request.engine)
    address = choose_engine(policy, request.engine)
    name, register = Path(request.release).name, f"the register {Path(request.knows).name}"
    tables = {
        name: build_file_table(request.release, {}, engine=address),
        register: build_file_table(request.knows, {}, engine=address),
    }
    shown = _columns(request, policy, name, dict(read_engine_schema(address, request.release)[1]))
    told = _known(request, shown, register, tables[register])
    shown = replace(shown, rating=told.rating and shown.rating, date=told.date and shown.date)
    with publisher(address, tables) as engine:
        tell("reading ratings")
        heard = read(engine, shown, told, request.victim_values)
    tell("looking for their records")
    attack = _attack(request, shown, heard)
    run = Run(findings=attack.run(heard.released, heard.known))
    trial = Trial(
        subject=name,
        knowledge=f"{heard.known.victim.size:,} ratings of {_people(heard)}, from {register}",
        tried=judged([run], request.bounds),
        skipped=others_than(Scoreboard),
        assumed=tuple(_assumed(request, attack, shown, told, heard)),
        sha256=digest_of(tables[name].source),
    )
    return trial, policy


def _people(heard: Heard) -> str:
    number = heard.known.victims
    return "1 person" if number == 1 else f"{number:,} people"


def _columns(request: Request, policy: Policy | None, name: str, kinds: Kinds) -> Rated:
    """Return the roles of the release's columns."""
    assert request.title is not None
    given = {"title": request.title, "person": request.person, "rating": request.rating, "date": request.date}
    for column in given.values():
        if column is not None and column not in kinds:
            raise RequestError(f"attack: {name} has no column {column}.", hint=f"It has {', '.join(kinds)}.")
    person = request.person or _person(request, policy, kinds)
    if person is None:
        raise RequestError(
            f"attack: no column of {name} is known to identify people.",
            hint="Name it with --person.",
        )
    left = {column: kind for column, kind in kinds.items() if column not in (*given.values(), person)}
    return Rated(
        table=name,
        person=person,
        title=request.title,
        rating=request.rating or _sole(left, NUMBERS, RATINGS),
        date=request.date or _sole(left, TIMES, ()),
    )


def _person(request: Request, policy: Policy | None, kinds: Kinds) -> str | None:
    """Return the policy's person column if the release has it, else a column named like an identifier."""
    tables: list[Table] = []
    if policy is not None:
        named = [request.table] if request.table in policy.tables else list(policy.tables)
        tables = [policy.tables[each] for each in named]
    declared = [each.person_column for each in tables if each.person_column in kinds]
    called = [each for each in kinds if each != request.title and likely_role(each) is Role.IDENTIFIER]
    return next((each for each in (*declared, *called) if each is not None), None)


def _sole(kinds: Kinds, wanted: tuple[ColumnType, ...], called: tuple[str, ...]) -> str | None:
    found = [name for name, kind in kinds.items() if kind in wanted]
    named = [name for name in kinds if name.lower() in called]
    return named[0] if len(named) == 1 else found[0] if len(found) == 1 else None


def _known(request: Request, shown: Rated, register: str, table: Table) -> Rated:
    """Return the roles of the register's columns."""
    called = request.called
    unknown = [name for name in called if name not in (shown.title, shown.rating, shown.date, shown.person)]
    if unknown:
        raise RequestError(
            f"attack: --column names {unknown[0]}, which is not compared.",
            hint=f"Compared are {', '.join(filter(None, (shown.title, shown.rating, shown.date)))}.",
        )

    def there(name: str | None) -> str | None:
        column = None if name is None else called.get(name, name)
        return column if column in table.columns or name in called else None

    title = there(shown.title)
    if title is None:
        raise RequestError(
            f"attack: {register} has no column {shown.title}.",
            hint=f"Say how it calls it: --column {shown.title}=NAME. It has {', '.join(table.columns)}.",
        )
    truth = there(shown.person)
    others = {name: column for name, column in table.columns.items() if name not in (title, truth)}
    return Rated(
        table=register,
        title=title,
        person=person_of(others) or truth,
        rating=there(shown.rating),
        date=there(shown.date),
        truth=truth,
    )


def _attack(request: Request, shown: Rated, heard: Heard) -> Scoreboard:
    default = Scoreboard()
    stars = 0.0 if request.stars is None else parse_number("--stars", request.stars)
    if request.stars is not None and heard.steps is None:
        raise RequestError(
            "attack: --stars applies to numeric ratings, and none are compared.",
            hint="Leave it out, or name the column with --rating.",
        )
    days = default.days if request.days is None else request.days
    return Scoreboard(
        days=None if shown.date is None else days,
        stars=None if shown.rating is None else int(stars * (heard.steps or 1) + 1e-9),
        wrong=default.wrong if request.wrong is None else parse_probability("--wrong", request.wrong),
    )


def _assumed(request: Request, attack: Scoreboard, shown: Rated, told: Rated, heard: Heard) -> list[str]:
    near = [
        "Titles are compared, ratings and dates are not."
        if shown.rating is None and shown.date is None
        else "Titles, ratings and dates are compared."
        if shown.rating is not None and shown.date is not None
        else f"Titles and {'ratings' if shown.date is None else 'dates'} are compared, and nothing else."
    ]
    if shown.rating is not None:
        near.append(f"Ratings may be off by {request.stars or 0}.")
    if shown.date is not None:
        near.append(f"Dates may be off by {attack.days} days.")
    scored = (
        f"Guesses are scored by {told.truth} of the register, which attackers do not have."
        if told.truth is not None
        else "The true records are unknown: a match is assumed right as often as it is believed."
    )
    left = [
        f"{number:,} rows of {table} were left out: something is missing, or the release lacks the title."
        for number, table in ((heard.rows_left_out, shown.table), (heard.known_left_out, told.table))
        if number
    ]
    return [
        " ".join(near),
        f"Attackers take up to {format_percent(attack.wrong)} of what they know of a person to be "
        "wrong, and give "
        f"it {format_percent(attack.present)} that the person is in the release.",
        scored,
        *left,
    ]
