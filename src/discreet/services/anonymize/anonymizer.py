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
from pathlib import Path
from typing import Self

import pyarrow as pa

from discreet.anonymity.models import KAnonymity, Model
from discreet.anonymity.recodings.microaggregation import Centre
from discreet.anonymity.recodings.pseudonyms import Pseudonyms
from discreet.anonymity.republication import EARLIER
from discreet.anonymity.search import Objective, SearchResult
from discreet.anonymity.search.objectives import Loss
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.services.anonymize.counted_table import CountedTable, count_table, require_values
from discreet.services.anonymize.exposure import require_declared_roles
from discreet.services.anonymize.posterior import PosteriorCap, build_posterior_models
from discreet.services.anonymize.recoding_methods import list_generalizations, recode_table
from discreet.services.anonymize.release import Release, ReportRenderer, list_published_columns
from discreet.services.anonymize.release_goal import Method, ReleaseGoal, parse_suppression_limit
from discreet.services.policies import load_policy
from discreet.services.policy_engines import resolve_frame

__all__ = ["Anonymizer", "Method", "Release", "ReleaseGoal"]

USUAL = KAnonymity(k=5)


class Anonymizer:
    """Finds a release of a table that meets the models; 5-anonymity if none is given."""

    def __init__(
        self,
        policy: Policy | str | Path,
        *,
        models: Sequence[Model] | None = None,
        posterior: PosteriorCap | float | None = None,
        suppress: Fraction | float | str = 0,
        objective: Objective | None = None,
        method: Method | str = Method.GENERALIZE,
        weights: Mapping[str, float] | None = None,
        levels: Mapping[str, int] | None = None,
        centres: Mapping[str, Centre | str] | None = None,
        pseudonyms: Sequence[Pseudonyms] = (),
        earlier: pa.Table | None = None,
        seconds: float | None = None,
        sampling: float | None = None,
        unit: str | None = None,
        population: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.policy = _load_policy(policy)
        asked = (USUAL,) if models is None and posterior is None else tuple(models or ())
        if not asked and posterior is None:
            raise RequestError("anonymize: no privacy model is given.", hint="Start with -k 5.")
        self.goal = ReleaseGoal(
            models=asked,
            suppress=parse_suppression_limit(suppress),
            objective=objective or Loss(),
            method=Method(method),
            weights=dict(weights or {}),
            seconds=seconds,
            levels=levels,
            centres={name: Centre(each) for name, each in (centres or {}).items()},
            pseudonyms=tuple(pseudonyms),
            earlier=earlier,
            sampling=sampling,
        )
        self._unit, self._population = unit, population
        self._posterior = PosteriorCap(cap=posterior) if isinstance(posterior, float | int) else posterior
        self._report_progress = progress or (lambda _: None)
        self.release: Release

    def fit(self, table: object) -> Self:
        """Find the release of a policy's table, or of a frame with the columns of the policy's only table."""
        began = time.perf_counter()
        name, frames = resolve_frame(self.policy, table)
        declared = self.policy.tables[name]
        columns = list_published_columns(declared, tuple(each.column for each in self.goal.pseudonyms))
        require_declared_roles(name, declared, columns)
        counted = self._count_table(name, frames, shown=columns)
        self._report_progress("searching")
        recoding, found = recode_table(counted, self._report_progress)
        seen = {each: held for each, held in counted.tuples.sensitive.items() if each != EARLIER}
        self.release = Release(
            **vars(counted) | {"tuples": replace(counted.tuples, sensitive=seen)},
            recoding=recoding,
            search_result=found,
            columns=columns,
            seconds=time.perf_counter() - began,
            render_report=self.get_report_renderer(),
        )
        return self

    def get_report_renderer(self) -> ReportRenderer | None:
        """Return what renders the reports of releases; services have none, `discreet.Anonymizer` has."""
        return None

    def list_minimal(self, table: object) -> tuple[SearchResult, tuple[str, ...]]:
        """Return all minimal generalizations, and the columns that their levels belong to."""
        counted = self._count_table(*resolve_frame(self.policy, table))
        return list_generalizations(counted, self._report_progress, top=None), counted.source.quasi

    def list_best(self, table: object, number: int) -> tuple[SearchResult, tuple[str, ...]]:
        """Return the `number` generalizations with least loss, and the columns of their levels."""
        counted = self._count_table(*resolve_frame(self.policy, table))
        return list_generalizations(counted, self._report_progress, top=number), counted.source.quasi

    def _count_table(
        self, name: str, frames: dict[str, pa.Table], *, shown: tuple[str, ...] = ()
    ) -> CountedTable:
        found = count_table(
            self.policy,
            name,
            frames,
            self.goal,
            unit=self._unit,
            population=self._population,
            shown=shown,
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


def _load_policy(policy: object) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str | Path):
        return load_policy(Path(policy))
    raise RequestError(
        "anonymize: policy must be the path of a policy file, or a Policy.",
        hint="Write the policy to privacy.yaml, and pass that path.",
    )
