"""A question in Python and on the command line: what may be given, what is said where it is wrong."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import discreet
from discreet.core.errors import RequestError
from discreet.services.audit.audit_request import AuditRequest
from discreet.services.promise import PromiseRequest, state_promise
from discreet.services.question_request import QuestionRequest
from tests.services import patients

COUNT = "SELECT COUNT(*) AS n FROM patients"
DECISIONS = "SELECT sex, BOOL_OR(age > 30) AS o, COUNT(*) AS n FROM patients GROUP BY sex"


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[discreet.Curator]:
    with discreet.Curator.open(patients.write(tmp_path)) as curator:
        yield curator


def refuse(call: Callable[[], object]) -> str:
    with pytest.raises(RequestError) as refusal:
        call()
    return str(refusal.value)


def test_percentages_may_be_texts(curator: discreet.Curator) -> None:
    texts = curator.plan(COUNT, share="5%", confidence="90%")
    numbers = curator.plan(COUNT, share=0.05, confidence=0.9)
    assert texts.key == numbers.key
    assert texts.query_plan.confidence == 0.9
    assert AuditRequest(audited="laplace", confidence="99%").confidence == 0.99  # type: ignore[arg-type]
    promise, _ = state_promise(PromiseRequest(prior="1%", posterior="1/20"))  # type: ignore[arg-type]
    assert promise == discreet.Promise("1%", "5%") == discreet.Promise(0.01, 0.05)


def test_an_argument_of_a_wrong_type_is_refused_in_one_sentence(curator: discreet.Curator) -> None:
    said = refuse(lambda: curator.ask(None))  # type: ignore[call-overload]
    assert said == "ask: `question=` must be a question in SQL, or a plan of it; got None."
    assert "`sql=` must be a question in SQL" in refuse(lambda: curator.plan(3))  # type: ignore[call-overload]
    assert "`epsilon=` must be a finite number" in refuse(lambda: curator.plan(COUNT, epsilon="much"))  # type: ignore[call-overload]
    assert "`least_rows=` must be an integer" in refuse(lambda: curator.plan(COUNT, least_rows=0.5))  # type: ignore[call-overload]
    assert "`share=` must be a probability" in refuse(lambda: curator.plan(COUNT, share=2))
    assert "`source=` must be a curator" in refuse(lambda: discreet.ask(3, COUNT))  # type: ignore[arg-type]
    assert "`audited=` must be the name of a mechanism" in refuse(lambda: discreet.audit(3))  # type: ignore[arg-type]
    assert "a question needs a policy" in refuse(lambda: discreet.audit(COUNT))
    assert "`policy=` must be a policy" in refuse(lambda: discreet.audit(COUNT, policy=3))  # type: ignore[arg-type]
    assert "`subject=` must be a promise" in refuse(lambda: discreet.draw(3))  # type: ignore[arg-type]
    assert "Promise.posterior must be" in refuse(lambda: discreet.Promise("1%", "much"))


def test_a_plan_is_refused_as_a_plan(curator: discreet.Curator) -> None:
    median = "SELECT MEDIAN(age) AS m FROM patients"
    assert refuse(lambda: curator.plan(median, within=1)).startswith("plan: how far MEDIAN is off")
    assert refuse(lambda: curator.ask(median, within=1)).startswith("ask: how far MEDIAN is off")


def test_an_unknown_name_is_said_before_a_missing_epsilon(tmp_path: Path) -> None:
    policy = patients.write(tmp_path)
    lines = [line for line in policy.read_text().splitlines() if not line.startswith("epsilon:")]
    policy.write_text("\n".join(lines) + "\n")
    with discreet.Curator.open(policy) as curator:
        assert "there is no table nobody" in refuse(lambda: curator.plan("SELECT COUNT(*) AS n FROM nobody"))
        assert "there is no column shoe" in refuse(lambda: curator.plan(f"{COUNT} WHERE shoe > 40"))
        assert "no epsilon is given" in refuse(lambda: curator.plan(COUNT))
        assert "no table nobody" in refuse(lambda: discreet.train(curator, "tree", "nobody", "sex"))
        assert "no epsilon is given" in refuse(lambda: discreet.train(curator, "tree", "patients", "sex"))


def test_a_parameter_is_numbered(curator: discreet.Curator) -> None:
    told = refuse(lambda: curator.plan(f"{COUNT} WHERE age > ?", epsilon=1, values=[30]))
    assert told == "plan: a parameter is written $1, $2 …, and here it is «?». Number the parameters."
    assert curator.plan(f"{COUNT} WHERE age > $1", epsilon=1, values=[30]).text.endswith("age > 30")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT EVERY(age > 3) AS e FROM patients", "the function EVERY is not answered. Use BOOL_AND."),
        (
            "SELECT ANY_VALUE(age > 3) AS a FROM patients",
            "ANY_VALUE in «ANY_VALUE(age > 3)» is not answered. Use MODE, or MIN or MAX of a number.",
        ),
    ],
)
def test_a_hint_names_what_would_be_answered(curator: discreet.Curator, sql: str, told: str) -> None:
    assert refuse(lambda: curator.ask(sql, epsilon=1)) == f"ask: {told}"


def test_a_decision_has_no_interval_and_says_how_likely_it_is_wrong(curator: discreet.Curator) -> None:
    answer = curator.ask(DECISIONS, epsilon=0.5)
    told = answer.to_json()
    assert told["ranks"] == {}
    assert set(told["intervals"]) == {"n"}  # type: ignore[call-overload]
    decision = told["decisions"]["o"]  # type: ignore[index]
    assert decision["wrong"] == 0.05
    assert decision["why"].startswith("right where no row is true")
    assert decision["rows"] > 1
    header = next(csv.reader(io.StringIO(answer.to_csv())))
    assert header == ["sex", "o", "n", "n.low", "n.high"]
    assert answer.to_table_with_bounds().column_names == header


def test_a_decision_is_drawn_as_true_or_false(curator: discreet.Curator) -> None:
    alone = "SELECT sex, BOOL_OR(age > 30) AS o FROM patients GROUP BY sex"
    chart = discreet.draw(curator.ask(alone, epsilon=0.5)).to_dict()  # type: ignore[union-attr]
    values = (
        [row["value"] for data in chart["datasets"].values() for row in data] if "datasets" in chart else []
    )
    values = values or [row["value"] for row in chart["data"]["values"]]
    assert set(values) <= {"true", "false", "unknown"}
    assert "right where no row is true" in str(chart["title"])
    assert "numbers" in refuse(
        lambda: discreet.draw(curator.ask("SELECT MODE(sex) AS m FROM patients", epsilon=0.5))
    )


def test_a_request_is_the_same_however_it_is_written() -> None:
    typed = QuestionRequest(sql=COUNT, epsilon="0.5", within=None, least_rows="100", confidence="95%")  # type: ignore[arg-type]
    assert typed == QuestionRequest(sql=COUNT, epsilon=0.5, least_rows=100)
    assert QuestionRequest(sql=COUNT, within="±10").within == 10
    assert QuestionRequest(sql=COUNT, within=" 2% ").within == "2%"


def test_the_whole_promise_may_be_spent_by_one_question(curator: discreet.Curator) -> None:
    assert (
        curator.plan(COUNT, share="100%").query_plan.guarantee
        == curator.plan(COUNT, epsilon=curator.promise.epsilon).query_plan.guarantee
    )
    curator.ask(COUNT, share=1)
    assert "above 0 and at most 1" in refuse(lambda: curator.plan(COUNT, share=0))


def test_a_cost_that_is_given_twice_is_refused_by_the_names_of_both(curator: discreet.Curator) -> None:
    assert "`epsilon=` and `share=` were given" in refuse(lambda: curator.plan(COUNT, epsilon=1, share=0.1))
    twice = refuse(lambda: discreet.synthesize(curator, "patients", epsilon=0.1, promise=(0.01, 0.02)))
    assert "`promise=` and `epsilon=`" in twice
    assert not curator.ledger.list_entries()
