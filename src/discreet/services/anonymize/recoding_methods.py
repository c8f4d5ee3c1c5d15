"""Recoding of a counted table by the requested method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil

from discreet.anonymity.models import judge_all
from discreet.anonymity.recoding import Recoding, list_column_weights
from discreet.anonymity.recodings.local_recoding import recode_locally, suppress_cells
from discreet.anonymity.recodings.microaggregation import (
    Centre,
    CentreOptions,
    find_ordered_columns,
    microaggregate,
    require_numbers,
    show_centres,
)
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.anonymity.search import (
    SearchResult,
    Solution,
    find_minimal_nodes,
    recode_at_levels,
    search_lattice,
)
from discreet.anonymity.search.exploration import Progress
from discreet.anonymity.tuple_grouping import group_by_recoding
from discreet.core.errors import ModelNotMetError, RequestError
from discreet.services.anonymize.counted_table import CountedTable, ProgressCallback
from discreet.services.anonymize.nearest_goal import describe_nearest_goal
from discreet.services.anonymize.release_goal import Method

MOST_DECIMALS = 6


def recode_table(
    counted: CountedTable, report_progress: ProgressCallback
) -> tuple[Recoding, SearchResult | None]:
    """Return the recoding, judged once more by its labels, and the search result if there was a search."""
    recoding, found = _apply_method(counted, report_progress)
    if counted.goal.centres and counted.goal.method is not Method.MICROAGGREGATE:
        table = (counted.tuples, counted.hierarchies)
        recoding = show_centres(*table, recoding, counted.goal.models, _build_centres(counted))
    _require_models_met(counted, recoding)
    return recoding, found


def list_generalizations(
    counted: CountedTable, report_progress: ProgressCallback, *, top: int | None
) -> SearchResult:
    """Return the best generalizations, or all minimal ones."""
    goal = counted.goal
    if goal.method is not Method.GENERALIZE or goal.levels is not None or goal.centres:
        raise RequestError(
            "anonymize: generalizations can be listed for the method generalize only.",
            hint="Omit `method=`, `levels=` and `centres=`.",
        )
    return _run_search(
        find_minimal_nodes if top is None else partial(search_lattice, top=top), counted, report_progress
    )[0]


def require_levels(counted: CountedTable) -> tuple[int, ...]:
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


def _apply_method(
    counted: CountedTable, report_progress: ProgressCallback
) -> tuple[Recoding, SearchResult | None]:
    goal, tuples, hierarchies = counted.goal, counted.tuples, counted.hierarchies
    weights = goal.weights or None
    match goal.method:
        case Method.LOCAL:
            return recode_locally(tuples, hierarchies, goal.models, weights=weights), None
        case Method.MONDRIAN | Method.RELAXED:
            mondrian = Mondrian(
                ordered=find_ordered_columns(hierarchies, counted.numeric_columns),
                relaxed=goal.method is Method.RELAXED,
                weights=dict(goal.weights),
            )
            return mondrian.recode(tuples, hierarchies, goal.models), None
        case Method.CELLS:
            levels = require_levels(counted)
            return suppress_cells(tuples, hierarchies, goal.models, levels, weights=weights), None
        case Method.MICROAGGREGATE:
            centred = _build_centres(counted)
            return microaggregate(
                tuples, hierarchies, goal.models, goal.k or 1, centred, weights=weights
            ), None
        case Method.GENERALIZE:
            return _generalize(counted, report_progress)


def _generalize(
    counted: CountedTable, report_progress: ProgressCallback
) -> tuple[Recoding, SearchResult | None]:
    """Generalize to the requested levels, or to the best ones."""
    goal, table = counted.goal, (counted.tuples, counted.hierarchies)
    if goal.levels is not None:
        return recode_at_levels(*table, require_levels(counted), goal.models), None
    found, best = _run_search(search_lattice, counted, report_progress)
    return recode_at_levels(*table, best.levels, goal.models), found


def _run_search(
    find: Callable[..., SearchResult], counted: CountedTable, report_progress: ProgressCallback
) -> tuple[SearchResult, Solution]:
    """Run a search for a goal and return its result and best solution; raise if there is none."""
    goal = counted.goal
    found = find(
        counted.tuples,
        counted.hierarchies,
        goal.models,
        suppress=goal.suppress,
        objective=goal.objective,
        weights=_get_weights(counted),
        seconds=goal.time_limit,
        progress=_make_progress(report_progress),
    )
    if found.best is None:
        raise _build_not_found_error(counted, found)
    return found, found.best


def _get_weights(counted: CountedTable) -> list[float] | None:
    return list_column_weights(counted.goal.weights, counted.hierarchies) if counted.goal.weights else None


def _make_progress(report_progress: ProgressCallback) -> Progress:
    return lambda done, left: report_progress(f"searching: {done:,} judged, {left:,} left")


def _build_centres(counted: CountedTable) -> dict[str, CentreOptions]:
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
        name: CentreOptions(
            centre=goal.centres.get(name, Centre.MEAN), decimals=_count_decimals(counted, name)
        )
        for name in names
    }


def _count_decimals(counted: CountedTable, name: str) -> int:
    """Return the decimals of the policy's resolution; without one, those of the values."""
    resolution = counted.table.columns[name].resolution
    hierarchy = next(each for each in counted.hierarchies if each.name == name)
    require_numbers(hierarchy)
    texts = hierarchy.values if resolution is None else (format(resolution, "f"),)
    return min(max((len(text.partition(".")[2]) for text in texts), default=0), MOST_DECIMALS)


def _require_models_met(counted: CountedTable, recoding: Recoding) -> None:
    """Judge the recoding once more by its labels, and raise if it suppresses too many rows."""
    goal, tuples = counted.goal, counted.tuples
    classes, _ = group_by_recoding(tuples, recoding)
    if not judge_all(classes, goal.models).all():
        raise AssertionError("a recoding broke its models")
    left_out = int(tuples.counts[~recoding.published].sum())
    if len(classes) == 0:
        raise _build_unmet_error(counted)
    if left_out > goal.suppress * tuples.rows:
        raise ModelNotMetError(
            f"Meeting {goal.model_names} leaves out {left_out:,} of {tuples.rows:,}, more than the "
            "suppression "
            "limit allows.",
            hint=f'Allow `suppress="{ceil(1000 * left_out / tuples.rows) / 10:g}%"`, or ask for less.',
        )


def _build_not_found_error(counted: CountedTable, found: SearchResult) -> ModelNotMetError:
    if found.proven:
        return _build_unmet_error(counted)
    return ModelNotMetError(
        f"No generalization that meets {counted.goal.model_names} was found in "
        f"{counted.goal.time_limit:g} seconds: {found.checked:,} of {found.nodes:,} were judged.",
        hint="Allow more `seconds=` or `suppress=`, or ask for less.",
    )


def _build_unmet_error(counted: CountedTable) -> ModelNotMetError:
    goal = counted.goal
    return ModelNotMetError(
        f"No generalization of the table meets {goal.model_names} within the suppression limit.",
        hint=describe_nearest_goal(counted.tuples, counted.hierarchies, goal),
    )
