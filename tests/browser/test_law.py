"""The law of the survey's own script, in the page: exact at its thresholds, and as stated over many draws."""

from __future__ import annotations

import json
from itertools import combinations
from math import comb
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from discreet.local.exact_sampling import THRESHOLD_SCALE, fraction_to_threshold
from tests.services.surveys import Served
from tests.statistical import assert_probability, power

TRIALS = 20_000
HISTOGRAM = """
async ([law, answer, trials]) => {
  const { draw } = await import("/survey.js"), counts = {};
  for (let i = 0; i < trials; i++) {
    const report = draw(law, answer).join(" ");
    counts[report] = (counts[report] ?? 0) + 1;
  }
  return counts;
}
"""
SCRIPTED = """
async ([law, answer, word]) => {
  const { draw } = await import("/survey.js");
  crypto.getRandomValues = (array) => array.fill(array instanceof BigUint64Array ? BigInt(word) : 4294967295);
  return draw(law, answer);
}
"""
BELOW = """
async ([bound, words]) => {
  const { below } = await import("/survey.js"), left = [...words];
  crypto.getRandomValues = (array) => array.fill(left.shift());
  return [below(bound), left.length];
}
"""


@pytest.fixture
def page(browser: Browser, survey: Served) -> Page:
    page = browser.new_page()
    page.add_init_script("Math.random = () => { throw new Error('not a source of coins'); };")
    page.goto(survey.url)
    page.get_by_role("button", name="Randomize and send").wait_for()
    return page


def laws(survey: Served) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = json.loads(survey.get("survey.json"))["questions"]
    return questions


@pytest.mark.parametrize("place", [0, 1])
def test_the_histogram_of_what_is_sent_follows_the_law(page: Page, survey: Served, place: int) -> None:
    """Every set that can be sent, from every answer; checked against the operator that estimates with it."""
    operator, law = survey.survey.questions[place].operator, laws(survey)[place]
    k, d = operator.values, operator.size
    inside, outside = operator.p / comb(k - 1, d - 1), (1 - operator.p) / comb(k - 1, d)
    sets = list(combinations(range(k), d))
    for answer in range(k):
        counts = page.evaluate(HISTOGRAM, [law, answer, TRIALS])
        hits = {each: counts.get(" ".join(map(str, each)), 0) for each in sets}
        assert sum(hits.values()) == TRIALS
        own = sum(count for each, count in hits.items() if answer in each)
        assert_probability(own, TRIALS, operator.p, family=k * (len(sets) + 1))
        for each, count in hits.items():
            expected = inside if answer in each else outside
            assert_probability(count, TRIALS, expected, family=k * (len(sets) + 1))


def test_the_check_would_notice_an_answer_that_is_sent_ten_percent_more_often(survey: Served) -> None:
    for operator, family in zip((each.operator for each in survey.survey.questions), (12, 154), strict=True):
        assert power(operator.p, 1.1 * operator.p, TRIALS, family=family) > 1 - 1e-4


@pytest.mark.parametrize(("beyond", "holds"), [(-1, True), (0, False)])
def test_the_threshold_is_exact_to_the_last_of_64_bits(
    page: Page, survey: Served, beyond: int, holds: bool
) -> None:
    threshold = fraction_to_threshold(survey.survey.questions[1].operator.truth)
    assert 0 < threshold < THRESHOLD_SCALE
    report = page.evaluate(SCRIPTED, [laws(survey)[1], 3, str(threshold + beyond)])
    assert (3 in report) is holds
    assert len(report) == survey.survey.questions[1].operator.size


@pytest.mark.parametrize(
    ("bound", "words", "drawn"),
    [(3, [0, 1], 1), (3, [0, 4_294_967_295], 0), (4, [0], 0), (7, [3, 2, 1, 0, 4], 4)],
)
def test_words_that_would_favour_a_value_are_refused(
    page: Page, bound: int, words: list[int], drawn: int
) -> None:
    """Of 2**32 words the first 2**32 mod bound are drawn anew, so that the others divide evenly."""
    assert page.evaluate(BELOW, [bound, words]) == [drawn, 0]


def test_the_law_that_the_page_is_told_keeps_the_promise(survey: Served) -> None:
    """gamma of the laws that are sampled, multiplied over the questions, in whole numbers of 2**-64."""
    gamma = 1.0
    for law in laws(survey):
        t, k, d = int(law["threshold"]), len(law["values"]), law["size"]
        gamma *= t * (k - d) / ((THRESHOLD_SCALE - t) * d)
    promise = survey.survey.promise
    assert promise.gamma * (1 - 1e-9) < gamma <= promise.gamma * (1 + 1e-12)
