"""Analysis of operators: posteriors after a report, two bounds on breaches, two measures of information.

Table       The prior of every property, and its posterior after the given report, as in the slides on
            [EGS03]; without a given report, after the report that raises it most.
Bounds      A property of prior rho1 reaches at most the posterior that gamma allows, for any prior
            distribution, and at most the one that worst-case information allows, for this prior distribution.
            The smaller of the two holds.
Warning     Mutual information is a mean: it calls an operator harmless that rarely reveals anything, but then
            almost everything. The slides' example of that accompanies every analysis.

The task is read from YAML:

    operators:                       # or one operator's entries by themselves
      R1: {operator: kary-response, values: 1001, truth: 20%}
      R3: {operator: modular-noise, values: 1001, reach: 100, share: 50%}
    prior: {0: 1%}                   # unnamed values share the rest; without it, all are equally likely
    properties:
      X = 0: 0
      X outside of 200 to 800: [0..199, 801..1000]
    report: 0                        # the observed report; without it, the worst one
    promise: 1%:5%                   # the analysis says which operators keep it
    labels: [none, flu, cold]        # names of the values, if they have any

[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.belief import Promise, highest_posterior, mutual_information
from discreet.belief.breaches import Mask
from discreet.belief.information import bound_posterior_from_information
from discreet.core.errors import RequestError
from discreet.local import MatrixOperator
from discreet.local.operator import LARGEST_MATRIX, Operator, bound_information
from discreet.mechanisms.sampling import Floats
from discreet.services.collect.operators import OPERATOR_KEY, Plain, YamlFile, parse_operator
from discreet.services.yaml_reader import KeyPath

BITS = math.log(2)
PRIORS = (0.001, 0.01, 0.05, 0.1, 0.5)
ENTRIES = ("operators", "prior", "properties", "report", "promise", "labels")
MAX_DEFAULT_PROPERTIES = 5  # as many as a line of 80 characters has room for


@dataclass(frozen=True, kw_only=True)
class PosteriorBound:
    """The highest posterior of a property with this prior, by gamma and by worst-case information."""

    prior: float
    amplification: float
    information: float


@dataclass(frozen=True, kw_only=True)
class OperatorAnalysis:
    """The analysis of one operator; information is in bits, None if it cannot be computed."""

    name: str
    operator: Operator
    posteriors: tuple[float, ...]
    bounds: tuple[PosteriorBound, ...]
    mutual: float | None
    worst_case: float
    keeps_promise: bool | None


@dataclass(frozen=True, kw_only=True)
class InformationExample:
    """One operator of the slides' example against mutual information."""

    name: str
    law: str
    mutual: float
    worst_case: float
    posterior: float


def analyse_operators(task: AnalysisTask) -> tuple[OperatorAnalysis, ...]:
    """Return the analysis of every operator of a task."""
    return tuple(_analyse_operator(name, operator, task) for name, operator in task.operators.items())


def make_mutual_information_example() -> tuple[InformationExample, InformationExample]:
    """Return the slides' example: one bit, 0 or 1 with 50% each, randomized in two ways.

    >>> [round(each.mutual, 6) for each in make_mutual_information_example()]
    [0.029049, 9.2e-05]
    """
    fair = np.array([0.5, 0.5])
    flip = MatrixOperator(rows=[[0.6, 0.4], [0.4, 0.6]])
    rarely = MatrixOperator(rows=[[99e-6, 1e-6, 0.9999], [1e-6, 99e-6, 0.9999]])
    laws = (
        ("often a little", "the bit with 60%, the other with 40%", flip),
        ("rarely almost all", "nothing with 99.99%, else the bit in 99 of 100 cases", rarely),
    )
    first, second = (
        InformationExample(
            name=name,
            law=law,
            mutual=mutual_information(each.matrix(), fair, np.log2),
            worst_case=each.worst_case_information(fair) / BITS,
            posterior=float(each.posterior(fair, 0).max()),
        )
        for name, law, each in laws
    )
    return first, second


def _analyse_operator(name: str, operator: Operator, task: AnalysisTask) -> OperatorAnalysis:
    nats = bound_information(operator) if task.prior is None else operator.worst_case_information(task.prior)
    return OperatorAnalysis(
        name=name,
        operator=operator,
        posteriors=_compute_posteriors(operator, task),
        bounds=tuple(_bound_posterior(prior, operator.gamma, nats) for prior in _list_priors(task.promise)),
        mutual=_compute_mutual_information(operator, task),
        worst_case=nats / BITS,
        keeps_promise=None if task.promise is None else _keeps_promise(operator, task.promise),
    )


def _compute_mutual_information(operator: Operator, task: AnalysisTask) -> float | None:
    if task.prior is None or not operator.is_enumerable:
        return None
    return float(mutual_information(operator.matrix(), task.prior, np.log2))


def _compute_posteriors(operator: Operator, task: AnalysisTask) -> tuple[float, ...]:
    """Return each property's posterior after the given report, or after the worst one for it."""
    masks = list(task.properties.values())
    if task.prior is None:
        return ()
    if task.report is None:
        return tuple(swing.highest for swing in operator.posterior_ranges(task.prior, masks))
    after: Floats = operator.posterior(task.prior, task.report)
    return tuple(float(after[mask].sum()) for mask in masks)


def _bound_posterior(prior: float, gamma: float, nats: float) -> PosteriorBound:
    return PosteriorBound(
        prior=prior,
        amplification=1.0 if math.isinf(gamma) else highest_posterior(prior, math.log(gamma)),
        information=1.0 if math.isinf(nats) else bound_posterior_from_information(prior, nats),
    )


def _list_priors(promise: Promise | None) -> list[float]:
    return sorted({*PRIORS, *([] if promise is None else [promise.prior])})


def _keeps_promise(operator: Operator, promise: Promise) -> bool:
    return math.isfinite(operator.gamma) and promise.admits(operator.guarantee)


@dataclass(frozen=True, kw_only=True)
class AnalysisTask:
    """Operators to analyse; there is no prior if there are too many values to list, as with baskets."""

    operators: dict[str, Operator]
    prior: Floats | None
    properties: dict[str, Mask]
    report: int | None
    promise: Promise | None

    def compute_prior(self, mask: Mask) -> float:
        """Return the prior of a property."""
        assert self.prior is not None
        return float(self.prior[mask].sum())


def load_task(path: Path) -> AnalysisTask:
    """Return the task of a file; raise an error that names the line."""
    file = YamlFile(path, "file of operators")
    single = OPERATOR_KEY in file.entries
    entries = {name: value for name, value in file.entries.items() if not single or name in ENTRIES}
    file.require_known_names((), entries, ENTRIES)
    operators = _parse_operators(file, single)
    size = next(iter(operators.values())).values
    if size > LARGEST_MATRIX:
        return _load_without_prior(file, entries, operators, size)
    names = _ValueNames(file, size, entries.get("labels"))
    report = None
    if "report" in entries:
        report = names.parse_code(("report",), file.require_text(("report",), entries["report"]))
    promise = file.parse_promise(("promise",), entries["promise"]) if "promise" in entries else None
    prior = _parse_prior(file, names, size, entries.get("prior"))
    properties = _parse_properties(file, names, size, entries.get("properties"))
    _require_report(file, operators, report)
    return AnalysisTask(
        operators=operators, prior=prior, properties=properties, report=report, promise=promise
    )


def _load_without_prior(
    file: YamlFile, entries: dict[str, Plain], operators: dict[str, Operator], size: int
) -> AnalysisTask:
    for name in entries:
        if name not in ("operators", "promise"):
            file.refuse((name,), f"{size:,} values are too many to list: leave it out; gamma needs no prior")
    promise = file.parse_promise(("promise",), entries["promise"]) if "promise" in entries else None
    return AnalysisTask(operators=operators, prior=None, properties={}, report=None, promise=promise)


class _ValueNames:
    """The names of values in a file: labels, or codes."""

    def __init__(self, file: YamlFile, size: int, labels: Plain | None) -> None:
        self._file, self._size = file, size
        listed = [] if labels is None else file.require_texts(("labels",), labels)
        if labels is not None and (len(listed) != size or len(set(listed)) != size):
            file.refuse(("labels",), f"must be {size} different names, one for each value")
        self._codes = {label: code for code, label in enumerate(listed)}
        self.labels = listed or [str(code) for code in range(size)]

    def parse_code(self, place: KeyPath, text: str) -> int:
        """Return the code that a label or digits stand for."""
        is_code = not self._codes and re.fullmatch(r"\d{1,18}", text) is not None
        code = self._codes.get(text, int(text) if is_code else self._size)
        if code >= self._size:
            known = "one of the labels" if self._codes else f"a code from 0 to {self._size - 1}"
            self._file.refuse(place, f"{text} is outside of the domain: name {known}")
        return code

    def parse_span(self, place: KeyPath, text: str) -> range:
        """Return the codes of one value, or of a range such as 0..199."""
        low, dots, high = text.partition("..")
        first = self.parse_code(place, low.strip())
        return range(first, (self.parse_code(place, high.strip()) if dots else first) + 1)


def _parse_operators(file: YamlFile, single: bool) -> dict[str, Operator]:
    if single:
        entries = {name: value for name, value in file.entries.items() if name not in ENTRIES}
        return {"R": parse_operator(file, (), entries)}
    listed = file.require_mapping(("operators",), file.entries.get("operators", {}))
    if not listed:
        file.refuse((), "there is no operator: write operator: kary-response, or another kind")
    found = {
        name: parse_operator(file, ("operators", name), file.require_mapping(("operators", name), entry))
        for name, entry in listed.items()
    }
    if len({operator.values for operator in found.values()}) > 1:
        file.refuse(("operators",), "operators that are compared must have the same number of values")
    return found


def _parse_prior(file: YamlFile, names: _ValueNames, size: int, given: Plain | None) -> Floats:
    """Return the prior distribution; unnamed values share the rest equally."""
    if given is None:
        return np.full(size, 1 / size)
    if isinstance(given, list):
        if len(given) != size:
            file.refuse(("prior",), f"must be {size} probabilities, one for each value")
        given = {names.labels[code]: share for code, share in enumerate(given)}
    prior = np.full(size, np.nan)
    for name, share in file.require_mapping(("prior",), given).items():
        prior[names.parse_code(("prior", name), name)] = file.parse_share(("prior", name), share)
    rest, unnamed = 1 - float(np.nansum(prior)), np.isnan(prior)
    if abs(rest) > 1e-9 and (rest < 0 or not unnamed.any()):
        file.refuse(("prior",), f"must sum to 1; its probabilities sum to {1 - rest:.10g}")
    prior[unnamed] = max(rest, 0.0) / max(int(unnamed.sum()), 1)
    return np.asarray(prior / prior.sum())


def _parse_properties(file: YamlFile, names: _ValueNames, size: int, given: Plain | None) -> dict[str, Mask]:
    """Return sets of values by name; by default each of the first few values by itself."""
    if given is None:
        return {
            f"X = {names.labels[code]}": np.arange(size) == code
            for code in range(min(size, MAX_DEFAULT_PROPERTIES))
        }
    found = {}
    for name, listed in file.require_mapping(("properties",), given).items():
        mask = np.zeros(size, np.bool_)
        for text in file.require_texts(("properties", name), listed):
            span = names.parse_span(("properties", name), text)
            mask[span.start : span.stop] = True
        found[name] = mask
    return found


def _require_report(file: YamlFile, operators: dict[str, Operator], report: int | None) -> None:
    for name, operator in operators.items():
        try:
            if report is not None:
                operator.report_format.to_matrix_columns(np.array([report]))
        except RequestError:
            file.refuse(
                ("report",), f"reports of {name} are sets of bits: leave it out, for the worst of them"
            )
        if report is not None and (operator.outputs is None or report >= operator.outputs):
            file.refuse(("report",), f"{name} never sends {report}: leave it out, for the worst report")
