"""Recoding of a counted table by the requested method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil

from discreet.anonymity.grouping import classes_of_recoding
from discreet.anonymity.models import judge_all
from discreet.anonymity.ordering import ordered
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.recodings.cells import suppress_cells
from discreet.anonymity.recodings.centred import Centred, microaggregate, require_numbers, show_centres
from discreet.anonymity.recodings.local import recode_locally
from discreet.anonymity.recodings.microaggregation import Centre
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.anonymity.recodings.weights import by_column
from discreet.anonymity.search import Found, Solution, minimal, recoding_of, search
from discreet.anonymity.search.solution import Progress
from discreet.app.publishing.counted import Counted, Tell
from discreet.app.publishing.goals import Method
from discreet.app.publishing.nearest_goal import nearest
from discreet.core.errors import RequestError, UnmetError

MOST_DECIMALS = 6


def recode(counted: Counted, tell: Tell) -> tuple[Recoding, Found | None]:
    """Return the recoding, judged once more by its labels, and the search result if there was a search."""
    recoding, found = _recoded(counted, tell)
    if counted.goal.centres and counted.goal.method is not Method.MICROAGGREGATE:
        table = (counted.tuples, counted.hierarchies)
        recoding = show_centres(*table, recoding, counted.goal.models, _centred(counted))
    _require_kept(counted, recoding)
    return recoding, found


def listed(counted: Counted, tell: Tell, *, top: int | None) -> Found:
    """Return the best generalizations, or all minimal ones."""
    goal = counted.goal
    if goal.method is not Method.GENERALIZE or goal.levels is not None or goal.centres:
        raise RequestError(
            "anonymize: generalizations can be listed for the method generalize only.",
            hint="Omit --method, --level and --centre.",
        )
    return _found(minimal if top is None else partial(search, top=top), counted, tell)[0]


def levels_of(counted: Counted) -> tuple[int, ...]:
    """Return the requested levels, 0 where none is named; raise if one does not exist."""
    wanted = dict(counted.goal.levels or {})
    heights = {each.name: each.height for each in counted.hierarchies}
    for name, level in wanted.items():
        if name not in heights:
            raise RequestError(
                f"anonymize: {name} is not a quasi-identifier of {counted.name}.",
                hint=f"Its quasi-identifiers are {', '.join(heights)}.",
            )
        if not 0 <= level <= heights[name]:
            raise RequestError(
                f"anonymize: {name} has the levels 0 to {heights[name]}; got {level}.",
                hint="Name one of them.",
            )
    return tuple(wanted.get(name, 0) for name in heights)


def _recoded(counted: Counted, tell: Tell) -> tuple[Recoding, Found | None]:
    goal, tuples, hierarchies = counted.goal, counted.tuples, counted.hierarchies
    weights = goal.weights or None
    match goal.method:
        case Method.LOCAL:
            return recode_locally(tuples, hierarchies, goal.models, weights=weights), None
        case Method.MONDRIAN | Method.RELAXED:
            mondrian = Mondrian(
                ordered=ordered(hierarchies, counted.numeric),
                relaxed=goal.method is Method.RELAXED,
                weights=dict(goal.weights),
            )
            return mondrian.recode(tuples, hierarchies, goal.models), None
        case Method.CELLS:
            levels = levels_of(counted)
            return suppress_cells(tuples, hierarchies, goal.models, levels, weights=weights), None
        case Method.MICROAGGREGATE:
            centred = _centred(counted)
            return microaggregate(
                tuples, hierarchies, goal.models, goal.k or 1, centred, weights=weights
            ), None
        case Method.GENERALIZE:
            return _generalized(counted, tell)


def _generalized(counted: Counted, tell: Tell) -> tuple[Recoding, Found | None]:
    """Generalize to the requested levels, or to the best ones."""
    goal, table = counted.goal, (counted.tuples, counted.hierarchies)
    if goal.levels is not None:
        return recoding_of(*table, levels_of(counted), goal.models), None
    found, best = _found(search, counted, tell)
    return recoding_of(*table, best.levels, goal.models), found


def _found(find: Callable[..., Found], counted: Counted, tell: Tell) -> tuple[Found, Solution]:
    """Run a search for a goal and return its result and best solution; raise if there is none."""
    goal = counted.goal
    found = find(
        counted.tuples,
        counted.hierarchies,
        goal.models,
        suppress=goal.suppress,
        objective=goal.objective,
        weights=_weights(counted),
        seconds=goal.time_limit,
        progress=_progress(tell),
    )
    if found.best is None:
        raise _none_found(counted, found)
    return found, found.best


def _weights(counted: Counted) -> list[float] | None:
    return by_column(counted.goal.weights, counted.hierarchies) if counted.goal.weights else None


def _progress(tell: Tell) -> Progress:
    return lambda done, left: tell(f"searching: {done:,} judged, {left:,} left")


def _centred(counted: Counted) -> dict[str, Centred]:
    """Return the columns that show a centre; with microaggregation all of them do."""
    goal, known = counted.goal, {each.name: each for each in counted.hierarchies}
    unknown = [name for name in goal.centres if name not in known]
    if unknown:
        raise RequestError(
            f"anonymize: {unknown[0]} is not a quasi-identifier of {counted.name}.",
            hint=f"Its quasi-identifiers are {', '.join(known)}.",
        )
    names = list(known) if goal.method is Method.MICROAGGREGATE else list(goal.centres)
    return {
        name: Centred(centre=goal.centres.get(name, Centre.MEAN), decimals=_decimals(counted, name))
        for name in names
    }


def _decimals(counted: Counted, name: str) -> int:
    """Return the decimals of the policy's resolution; without one, those of the values."""
    resolution = counted.table.columns[name].resolution
    hierarchy = next(each for each in counted.hierarchies if each.name == name)
    require_numbers(hierarchy)
    texts = hierarchy.values if resolution is None else (format(resolution, "f"),)
    return min(max((len(text.partition(".")[2]) for text in texts), default=0), MOST_DECIMALS)


def _require_kept(counted: Counted, recoding: Recoding) -> None:
    """Judge the recoding once more by its labels, and raise if it suppresses too many rows."""
    goal, tuples = counted.goal, counted.tuples
    classes, _ = classes_of_recoding(tuples, recoding)
    if not judge_all(classes, goal.models).all():
        raise AssertionError("a recoding broke its models")
    left_out = int(tuples.counts[~recoding.kept].sum())
    if len(classes) == 0:
        raise _out_of_reach(counted)
    if left_out > goal.suppress * tuples.rows:
        raise UnmetError(
            f"Meeting {goal.asked} leaves out {left_out:,} of {tuples.rows:,}, more than the suppression "
            "limit allows.",
            hint=f"Allow --suppress {ceil(1000 * left_out / tuples.rows) / 10:g}%, or ask for less.",
        )


def _none_found(counted: Counted, found: Found) -> UnmetError:
    if found.proven:
        return _out_of_reach(counted)
    return UnmetError(
        f"No generalization that meets {counted.goal.asked} was found in "
        f"{counted.goal.time_limit:g} seconds: {found.checked:,} of {found.nodes:,} were judged.",
        hint="Allow more --seconds or --suppress, or ask for less.",
    )


def _out_of_reach(counted: Counted) -> UnmetError:
    goal = counted.goal
    return UnmetError(
        f"No generalization of the table meets {goal.asked} within the suppression limit.",
        hint=nearest(counted.tuples, counted.hierarchies, goal),
    )
