"""Wrong arguments of the public API: each works, or is refused in one sentence that names the argument.

Each call here is right. The sweep gives every argument of it every one of `WRONG`, one at a time. An error
that is not a `DiscreetError`, says more than a sentence and its hint, or does not name the argument, fails.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import belief, local, mining, models
from discreet.belief import Promise
from discreet.core.errors import DiscreetError, InvalidParameterError
from discreet.core.guarantees import PureDP
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from tests.conformance.test_models import EXAMPLES as MODEL_EXAMPLES

WRONG: dict[str, Any] = {
    "3": 3,
    "x": "x",
    "None": None,
    "[]": [],
    "{}": {},
    "nan": math.nan,
    "-1": -1,
    "long": "x" * 100_000,
    "object": object(),
    "googol": 10**400,
    "[3]": [3],
    "{3: 3}": {3: 3},
}
MOST_CHARACTERS = 600
"""Of an error: nothing that was given is repeated at length."""

PROMISE, THIRD = Promise(0.01, 0.05), Fraction(1, 3)
CHANNEL, PRIOR, PROPERTY = [[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5], [True, False]
ROWS, TARGETS = np.array([[1.0, 2.0], [3.0, 4.0]] * 20), ["a", "b"] * 20

POLICY = """
promise: {prior: 1%, posterior: 50%}
ledger: ledger.db
tables:
  people:
    source: people.csv
    rows: 40
    columns:
      age: {type: integer, low: 0, high: 7, role: quasi}
      sex: {type: category, values: [f, m], role: quasi}
      tea: {type: boolean, nulls: false, role: sensitive}
      milk: {type: boolean, nulls: false, role: sensitive}
"""
SQL = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A right call: what is called, and arguments by which it works; the others have defaults."""

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(default_factory=dict)
    """What an error may say instead of the name of an argument."""

    def list_parameters(self) -> list[str]:
        found = inspect.signature(self.function).parameters.values()
        kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        return [each.name for each in found if each.kind not in kinds and each.name not in self.skipped]


def make_call(name: str, function: Callable[..., Any], **arguments: Any) -> Call:
    return Call(name=name, function=function, arguments=arguments)


def list_belief_calls() -> Iterator[Call]:
    given: dict[str, Any] = {
        "accuracy_first": {"alpha": 1, "beta": 0.1},
        "amplification": {"channel": CHANNEL},
        "bound_chance_of_reaching": {"prior": 0.01, "posterior": 0.05},
        "bound_posterior": {"channel": CHANNEL, "prior": PRIOR, "rho1": 0.5},
        "bound_posterior_from_information": {"rho1": 0.5, "information": 0.1},
        "compute_belief": {"prior": 0.01, "loss": 1},
        "compute_posterior": {
            "mechanism": DiscreteLaplace(epsilon=Fraction(1), sensitivity=1),
            "worlds": {"a": 1, "b": 2},
            "prior": {"a": 0.5, "b": 0.5},
            "output": 1,
        },
        "compute_posteriors": {"channel": CHANNEL, "prior": PRIOR, "has_property": PROPERTY},
        "epsilon_generation": {"rows": 100, "columns": 3},
        "find_downward_breaches": {
            "channel": CHANNEL,
            "prior": PRIOR,
            "has_property": PROPERTY,
            "rho1": 0.1,
            "rho2": 0.5,
        },
        "find_upward_breaches": {
            "channel": CHANNEL,
            "prior": PRIOR,
            "has_property": PROPERTY,
            "rho1": 0.5,
            "rho2": 0.6,
        },
        "find_worst_property": {"channel": CHANNEL, "prior": PRIOR, "rho1": 0.5},
        "gamma": {"prior": 0.01, "posterior": 0.05},
        "highest_posterior": {"prior": 0.01, "loss": 1},
        "identifiability": {"m": 10, "rho": 0.5},
        "largest_gain": {"epsilon": 1},
        "limiting_breaches": {"prior": 0.01, "posterior": 0.05},
        "logit": {"p": 0.5},
        "lowest_posterior": {"prior": 0.01, "loss": 1},
        "mutual_information": {"channel": CHANNEL, "prior": PRIOR},
        "possible_worlds": {"n": 10, "rho": 0.5, "sensitivity": 1, "spread": 1},
        "relative_error": {"w": 0.1, "p": 0.9, "count": 100},
        "risk_profile": {"p": 0.1, "q": 0.1, "ratio": 2},
        "sigmoid": {"x": 0.5},
        "smallest_gamma": {"guarantee": PureDP(epsilon=1.0), "tail": 0.01},
        "tail_probability": {"guarantee": PureDP(epsilon=1.0), "gamma": 2},
        "tight_identifiability": {"answers": [1, 2, 3], "rho": 0.5},
        "uniform_prior": {"worlds": {"a": 1}},
        "worst_case_information": {"channel": CHANNEL, "prior": PRIOR},
        "worst_case_information_for_epsilon": {"epsilon": 1},
    }
    for name, arguments in given.items():
        yield make_call(f"belief.{name}", getattr(belief, name), **arguments)
    yield make_call("Promise", Promise, prior=0.01, posterior=0.05)
    yield make_call("Promise.epsilon_for", PROMISE.epsilon_for, relation="value")
    yield make_call("Promise.laplace_scale", PROMISE.laplace_scale, sensitivity=1)
    yield make_call("Promise.gaussian_scale", Promise(0.01, 0.05, tail=1e-6).gaussian_scale, sensitivity=1)
    yield make_call("Promise.admits", PROMISE.admits, guarantee=PureDP(epsilon=1.0))
    yield make_call("Promise.explain", PROMISE.explain)


OPERATORS: tuple[local.Operator, ...] = (
    local.KaryResponse(values=3, truth=Fraction(1, 2)),
    local.UnaryEncoding(values=3, noise=THIRD),
    local.LocalHashing(values=3, buckets=2, truth=Fraction(2, 3)),
    local.HadamardResponse(values=3, truth=Fraction(2, 3)),
    local.SubsetSelection(values=3, size=1, truth=Fraction(2, 3)),
    local.Rappor(values=3, width=8),
    local.ModularNoise(values=5, reach=1, share=THIRD),
    local.BoundedLaplace(values=3, decay=0.5),
    local.MatrixOperator(rows=CHANNEL),
    local.TwoPointMean(values=3, truth=Fraction(2, 3)),
    local.PiecewiseMean(values=5, window=2, share=THIRD),
    local.LaplaceMean(values=3, decay=0.5),
    local.CutAndPaste(items=5, size=2, cutoff=1, noise=THIRD),
    local.SelectASize(items=5, size=2, noise=THIRD, kept=(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))),
)


def list_local_calls() -> Iterator[Call]:
    for each in OPERATORS:
        kind, name = type(each), f"local.{type(each).__name__}"
        fields = inspect.signature(kind).parameters
        yield make_call(name, kind, **{one: getattr(each, one) for one in fields})
        if made := getattr(kind, "for_epsilon", None):
            sizes = {"epsilon": 1, "values": 5, "reach": 1, "items": 5, "size": 2}
            needed = inspect.signature(made).parameters
            yield make_call(
                f"{name}.for_epsilon", made, **{one: sizes[one] for one in needed if one in sizes}
            )
        codes = np.array([0, 1, 1, 0])
        reports = each.randomize(codes)
        prior = np.full(each.values, 1 / each.values)
        mask = np.arange(each.values) == 0
        yield make_call(f"{name}.randomize", each.randomize, x=codes)
        yield make_call(f"{name}.estimate", each.estimate, reports=reports)  # type: ignore[attr-defined]
        yield make_call(f"{name}.count_reports", each.count_reports, reports=reports)
        yield make_call(f"{name}.posterior", each.posterior, prior=prior, y=reports[0])
        yield make_call(f"{name}.worst_case_information", each.worst_case_information, prior=prior)
        yield make_call(f"{name}.posterior_ranges", each.posterior_ranges, prior=prior, properties=[mask])
        yield make_call(
            f"{name}.find_breaches", each.find_breaches, prior=prior, properties=[mask], promise=PROMISE
        )
        shares = {"share": 0.1, "code": 1, "k": 1}
        variance = getattr(each, "variance", None)
        if variance is not None:
            wanted = inspect.signature(variance).parameters
            yield make_call(
                f"{name}.variance",
                variance,
                clients=10,
                **{one: shares[one] for one in wanted if one in shares},
            )
        if isinstance(each, local.MEAN_OPERATORS):
            yield make_call(f"{name}.encode", each.encode, numbers=[0.5, 0.1])
    estimate = OPERATORS[0].estimate(OPERATORS[0].randomize(np.array([0, 1, 2])))  # type: ignore[attr-defined]
    yield make_call("FrequencyEstimate.intervals", estimate.intervals)
    yield make_call("FrequencyEstimate.estimate_share", estimate.estimate_share, holds=[True, False, True])
    yield make_call("FrequencyEstimate.estimate_mean", estimate.estimate_mean, numbers=[1, 2, 3])
    yield make_call("FrequencyEstimate.estimate_range_share", estimate.estimate_range_share, low=0, high=1)
    mean = local.TwoPointMean(values=3, truth=Fraction(2, 3))
    yield make_call("MeanEstimate.interval", mean.estimate(mean.randomize(np.array([0, 1, 2]))).interval)
    yield make_call("local.BitFormat", local.BitFormat, width=8)
    yield make_call("local.CodeFormat", local.CodeFormat, outputs=8)
    yield make_call(
        "local.design_frequencies", local.design_frequencies, promise=PROMISE, values=5, clients=9
    )
    yield make_call("local.design_mean", local.design_mean, promise=PROMISE, clients=9, values=5)
    yield make_call("local.design_baskets", local.design_baskets, promise=PROMISE, items=9, size=2, clients=9)


def list_model_calls() -> Iterator[Call]:
    for kind in models.MODELS:
        example = MODEL_EXAMPLES[kind.__name__][-1]
        arguments = {each.name: getattr(example, each.name) for each in fields(example)}
        if "hierarchy" not in arguments:  # which a policy declares
            yield make_call(f"models.{kind.__name__}", kind, **arguments)


def list_mining_calls() -> Iterator[Call]:
    """Estimators take what they are given, as scikit-learn's do, and check it when they are fitted."""
    for kind in mining.ESTIMATORS:
        given: dict[str, Any] = {"epsilon": 1, "bounds": (0, 5), "rows": 40}
        targets: Any = TARGETS
        if kind is mining.PrivateTreeRegressor:
            given, targets = given | {"target": (0, 1)}, [0.0, 1.0] * 20
        else:
            given = given | {"classes": ["a", "b"]}
        parameters = inspect.signature(kind).parameters
        given = {name: value for name, value in given.items() if name in parameters}

        def fit(_kind: Any = kind, _targets: Any = targets, **arguments: Any) -> object:
            return _kind(**arguments).fit(ROWS, _targets)

        fit.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
        yield make_call(f"mining.{kind.__name__}", fit, **given)
        fitted = kind(**given).fit(ROWS, targets)
        yield make_call(f"mining.{kind.__name__}.fit", kind(**given).fit, X=ROWS, y=targets)
        yield make_call(f"mining.{kind.__name__}.predict", fitted.predict, X=ROWS)
        yield make_call(f"mining.{kind.__name__}.score", fitted.score, X=ROWS, y=targets)


PLAIN_CALLS = [*list_belief_calls(), *list_local_calls(), *list_model_calls(), *list_mining_calls()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "privacy.yaml").write_text(POLICY)
    (tmp_path / "open.yaml").write_text(POLICY.replace("low: 0, high: 7", "low: ?, high: ?"))
    rows = [f"{i % 8},{'fm'[i % 2]},{str(i % 3 == 0).lower()},{str(i % 5 == 0).lower()}" for i in range(39)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,tea,milk", "0,m,true,true", *rows]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def give_signature(function: Callable[..., Any], like: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of keywords alone, with the signature of the one that it stands for."""
    function.__signature__ = inspect.signature(like)  # type: ignore[attr-defined]
    return function


def open_and_close(open_curator: Callable[..., discreet.Curator]) -> Callable[..., None]:
    return give_signature(lambda **given: open_curator(**given).close(), open_curator)


def list_custodian_calls(curator: discreet.Curator) -> Iterator[Call]:
    policy, k = "privacy.yaml", [models.KAnonymity(k=2)]
    release = discreet.anonymize(policy, "people", k=2)
    release.write("out.csv", force=True)
    yield make_call("anonymize", discreet.anonymize, policy=policy, table="people", k=2)
    fit = give_signature(lambda **given: discreet.Anonymizer(**given).fit("people"), discreet.Anonymizer)
    yield make_call("Anonymizer", fit, policy=policy, models=k)
    found = discreet.Anonymizer(policy, models=k)
    yield make_call("Anonymizer.list_best", found.list_best, table="people", number=2)
    yield make_call("Release.write", release.write, path="again.csv", force=True)
    yield make_call("Release.to_arrow", release.to_arrow, force=True)
    yield make_call("attack", discreet.attack, release="out.csv", quasi=["age", "sex"], sensitive="tea")
    victim = {"age": 0, "sex": "m"}
    yield make_call("attack answers", discreet.attack, release=policy, claim="tea", victim=victim)
    yield make_call("require_bounds", discreet.attack(release).require_bounds, is_forced=True)
    yield make_call("audit", discreet.audit, audited="discrete-laplace", runs=200)
    yield make_call("audit question", discreet.audit, audited=SQL, policy=policy, epsilon=1, runs=200)
    yield make_call("check", discreet.check, source=policy, tables="people")
    yield make_call("draw", discreet.draw, subject=PROMISE)
    yield make_call("write_sample_data", discreet.write_sample_data, folder="made")
    yield make_call("Curator.open", open_and_close(discreet.Curator.open), path=policy)
    opened = open_and_close(discreet.Curator.open_policy)
    yield make_call("Curator.open_policy", opened, policy=curator.policy)


def list_charged_calls(curator: discreet.Curator) -> Iterator[Call]:
    given: dict[str, Any] = {"source": curator, "table": "people", "epsilon": 0.001}
    yield make_call("ask", discreet.ask, source=curator, question=SQL, epsilon=0.001)
    yield make_call("Curator.plan", curator.plan, sql=SQL, epsilon=0.001)
    yield make_call("Curator.ask", curator.ask, question=SQL, epsilon=0.001)
    yield make_call("itemsets", discreet.itemsets, **given)
    yield make_call("tabulate", discreet.tabulate, **given, columns=["sex"])
    yield make_call("synthesize", discreet.synthesize, **given, columns=["sex", "tea"])
    yield make_call("train", discreet.train, **given, kind="tree", target="tea")
    asked = {"curator": curator, "table": "people", "columns": ["sex"], "questions": 9, "epsilon": 0.001}
    yield make_call("open_stream", discreet.open_stream, **asked)
    learned = given | {"source": "open.yaml", "column": "age"}
    yield make_call("learn_bounds", discreet.learn_bounds, **learned)
    stream = discreet.open_stream(curator, "people", ["sex"], questions=99, epsilon=0.001)
    yield make_call("Stream.ask", stream.ask, sql="SELECT COUNT(*) FROM people WHERE sex = 'f'")


def names_argument(text: str, argument: str) -> bool:
    """Return whether a refusal names the argument, or another one in relation to it."""
    named = {first or second for first, second in re.findall(r"`(\w+)=[^`]*`|\b[A-Z]\w+\.([a-z]\w*)", text)}
    return argument in named or bool(named and re.search(rf"\b{argument}\b", text))


def find_complaint(call: Call, argument: str, value: Any) -> str:
    """Return what is wrong with the answer to a wrong argument, or an empty text."""
    try:
        call.function(**{**call.arguments, argument: value})
    except DiscreetError as refusal:
        text = str(refusal)
        if "\n" in text or len(text) > MOST_CHARACTERS:
            return f"says too much: {text[:200]!r}"
        if not isinstance(refusal, InvalidParameterError):
            return ""  # of what the value means, such as a table that does not exist
        return "" if names_argument(text.partition("; got ")[0], argument) else f"does not name it: {text}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:150]}"
    return ""


def list_complaints(call: Call) -> list[str]:
    call.function(**call.arguments)
    return [
        f"{call.name}({argument}={shown}) {found}"
        for argument in call.list_parameters()
        for shown, value in WRONG.items()
        if (found := find_complaint(call, argument, value))
    ]


@pytest.mark.parametrize("call", PLAIN_CALLS, ids=lambda call: call.name)
def test_a_wrong_argument_is_refused_by_its_name(call: Call) -> None:
    assert list_complaints(call) == []


@pytest.mark.parametrize("list_calls", [list_custodian_calls, list_charged_calls])
def test_a_wrong_argument_of_a_verb_is_refused_by_its_name(
    folder: Path, list_calls: Callable[[discreet.Curator], Iterator[Call]]
) -> None:
    assert folder.exists()
    with discreet.Curator.open("privacy.yaml") as curator:
        assert [found for call in list_calls(curator) for found in list_complaints(call)] == []


def test_every_public_function_is_in_the_sweep(folder: Path) -> None:
    assert folder.exists()
    with discreet.Curator.open("privacy.yaml") as curator:
        swept = {call.name for call in (*list_custodian_calls(curator), *list_charged_calls(curator))}
    assert {name for name in discreet.__all__ if inspect.isfunction(getattr(discreet, name))} <= swept
    plain = {call.name for call in PLAIN_CALLS}
    for module, short in ((belief, "belief"), (local, "local")):
        functions = [name for name in module.__all__ if inspect.isfunction(getattr(module, name))]
        assert {f"{short}.{name}" for name in functions} <= plain
    assert {f"local.{kind.__name__}" for kind in local.OPERATORS} <= plain
    assert {f"mining.{kind.__name__}" for kind in mining.ESTIMATORS} <= plain
    missing = {kind.__name__ for kind in models.MODELS if f"models.{kind.__name__}" not in plain}
    assert missing == {"HierarchicalCloseness"}, "it takes a hierarchy, which a policy declares"
