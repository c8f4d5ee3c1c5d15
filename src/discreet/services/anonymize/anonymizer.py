"""The anonymizer: from a policy's table, models and a recoding method to the release with its certificate.

    values → hierarchies → the engine counts distinct tuples → search or recode → judge again
    → the engine writes

Before anything is written, all models judge the release once more by the labels that it shows: a recoding
that breaks a model is refused, whatever search produced it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil
from pathlib import Path
from typing import Self

import pyarrow as pa

from discreet.anonymity.models import Model, judge_all
from discreet.anonymity.models.posterior_cap import PosteriorCap, build_posterior_models
from discreet.anonymity.recoding import Recoding, group_by_recoding, list_column_weights
from discreet.anonymity.recodings.cell_suppression import suppress_cells
from discreet.anonymity.recodings.local_recoding import recode_locally
from discreet.anonymity.recodings.microaggregation import (
    Centre,
    CentreOptions,
    find_ordered_columns,
    microaggregate,
    require_numbers,
    show_centres,
)
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.anonymity.recodings.pseudonyms import Pseudonyms
from discreet.anonymity.republication import EARLIER
from discreet.anonymity.search import (
    Objective,
    SearchResult,
    Solution,
    find_minimal_generalizations,
    recode_at_levels,
    search_lattice,
)
from discreet.anonymity.search.exploration import Progress
from discreet.anonymity.suppression import parse_suppression_limit
from discreet.core.errors import InvalidParameterError, ModelNotMetError, RequestError, require_parameter
from discreet.core.number_checks import require_count
from discreet.core.policy import Policy
from discreet.services.anonymize.counted_table import (
    CountedTable,
    ProgressCallback,
    count_table,
    require_values,
)
from discreet.services.anonymize.exposure import require_reviewed_names
from discreet.services.anonymize.release import Release, list_published_columns
from discreet.services.anonymize.release_goal import (
    Method,
    ReleaseGoal,
    describe_nearest_goal,
)
from discreet.services.anonymize.release_options import (
    Texts,
    read_centres,
    read_choice,
    read_levels,
    read_models,
    read_objective,
    read_posterior,
    read_pseudonyms,
    read_weights,
    require_column_names,
    require_signatures,
    require_unit,
)
from discreet.services.anonymize.table_resolution import ResolvedTable, resolve_population
from discreet.services.policies import load_policy
from discreet.services.policy_engines import resolve_frame
from discreet.services.policy_values import PolicyForm, parse_policy, require_filled

__all__ = ["Anonymizer", "Method", "Release", "ReleaseGoal"]

MOST_DECIMALS = 6  # of a centre


class Anonymizer:
    """Finds a release of a table that meets the models."""

    release_type: type[Release] = Release
    """The class of the releases that it finds."""

    def __init__(
        self,
        policy: PolicyForm,
        *,
        models: Sequence[Model] = (),
        posterior: PosteriorCap | float | str | None = None,
        suppress: Fraction | float | str = 0,
        objective: Objective | str | None = None,
        method: Method | str = Method.GENERALIZE,
        weights: Mapping[str, float] | Texts | None = None,
        levels: Mapping[str, int] | Texts | None = None,
        centres: Mapping[str, Centre | str] | Texts | None = None,
        pseudonyms: Sequence[Pseudonyms] = (),
        forced_columns: Sequence[str] = (),
        earlier: pa.Table | None = None,
        seconds: float | None = None,
        sampling: float | None = None,
        unit: str | None = None,
        population: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.policy = load_declared_policy(policy)
        self._posterior = read_posterior(posterior)
        require_unit(unit)
        require_column_names("forced_columns", forced_columns)
        require_signatures(earlier)
        require_parameter(
            population is None or isinstance(population, str),
            "anonymize",
            "population",
            population,
            "a table of the policy, or a file",
        )
        require_parameter(
            progress is None or callable(progress), "anonymize", "progress", progress, "a function of a text"
        )
        self.goal = ReleaseGoal(
            models=read_models(models, has_posterior=posterior is not None),
            suppress=parse_suppression_limit(suppress),
            objective=read_objective(objective),
            method=read_choice("method", Method, method),
            weights=read_weights(weights),
            seconds=seconds,
            levels=read_levels(levels),
            centres=read_centres(centres),
            pseudonyms=read_pseudonyms(pseudonyms),
            earlier=earlier,
            sampling=sampling,
        )
        self._unit, self._population = unit, population
        self._forced = tuple(forced_columns)
        self._report_progress = progress or (lambda _: None)
        self.release: Release

    def __repr__(self) -> str:
        tables, method = ", ".join(self.policy.tables), self.goal.method.value
        return f"<Anonymizer of {tables}: {method}, {self.goal.model_names}>"

    def fit(self, table: object) -> Self:
        """Find the release of a policy's table, or of a frame with the columns of the policy's only table."""
        began = time.perf_counter()
        name, frames = resolve_frame(self.policy, table)
        declared = self.policy.tables[name]
        columns = list_published_columns(declared, tuple(each.column for each in self.goal.pseudonyms))
        require_reviewed_names(name, declared, columns, self._forced)
        counted = self._count_table(name, frames, shown=columns)
        self._report_progress("searching")
        recoding, found = recode_table(counted, self._report_progress)
        seen = {each: held for each, held in counted.tuples.sensitive.items() if each != EARLIER}
        self.release = self.release_type(
            **vars(counted) | {"tuples": replace(counted.tuples, sensitive=seen)},
            recoding=recoding,
            search_result=found,
            columns=columns,
            seconds=time.perf_counter() - began,
        )
        return self

    def list_minimal(self, table: object) -> tuple[SearchResult, tuple[str, ...]]:
        """Return all minimal generalizations, and the columns that their levels belong to."""
        counted = self._count_table(*resolve_frame(self.policy, table))
        return search_generalizations(counted, self._report_progress, top=None), counted.source.quasi

    def list_best(self, table: object, number: int) -> tuple[SearchResult, tuple[str, ...]]:
        """Return the `number` generalizations with least loss, and the columns of their levels."""
        require_count("anonymize", "number", number)
        counted = self._count_table(*resolve_frame(self.policy, table))
        return search_generalizations(counted, self._report_progress, top=number), counted.source.quasi

    def _count_table(
        self, name: str, frames: dict[str, pa.Table], *, shown: tuple[str, ...] = ()
    ) -> CountedTable:
        named = ResolvedTable(name=name, policy=self.policy)
        resolved = resolve_population(named, self._population)
        found = count_table(
            resolved.policy,
            name,
            frames,
            self.goal,
            unit=self._unit,
            population=resolved.population,
            shown=shown,
            forced=self._forced,
            report_progress=self._report_progress,
        )
        sensitive, declared = found.tuples.sensitive, self.policy.tables[name]
        require_values(declared, sensitive, found.goal.models)
        if self._posterior is None:
            return found
        seen = {each: held for each, held in sensitive.items() if each != EARLIER}
        capping = tuple(build_posterior_models(self._posterior, seen))
        require_values(declared, sensitive, capping)
        models = (*found.goal.models, *capping)
        return replace(found, goal=replace(found.goal, models=models, capping=capping))


def load_declared_policy(policy: object) -> Policy:
    """Return the policy that a Python caller gives: as such, as a dict, or as the path of its file."""
    if isinstance(policy, Policy):
        return require_filled(policy)
    if isinstance(policy, str | Path):
        return load_policy(Path(policy))
    if isinstance(policy, Mapping):
        return parse_policy(policy)
    raise InvalidParameterError(
        "anonymize: `policy=` must be a policy, the path of its file, or a frame.",
        hint="Write the policy to privacy.yaml, and pass that path.",
    )


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


def search_generalizations(
    counted: CountedTable, report_progress: ProgressCallback, *, top: int | None
) -> SearchResult:
    """Return the best generalizations, or all minimal ones."""
    goal = counted.goal
    if goal.method is not Method.GENERALIZE or goal.levels is not None or goal.centres:
        raise RequestError(
            "anonymize: generalizations can be listed for the method generalize only.",
            hint="Omit `method=`, `levels=` and `centres=`.",
        )
    find = find_minimal_generalizations if top is None else partial(search_lattice, top=top)
    return _run_search(find, counted, report_progress)[0]


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
            return _generalize_table(counted, report_progress)


def _generalize_table(
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
        unit = "rows" if counted.source.person is None else "people"
        raise ModelNotMetError(
            f"Meeting {goal.model_names} leaves out {left_out:,} of {tuples.rows:,} {unit}, more than the "
            "suppression limit allows.",
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
