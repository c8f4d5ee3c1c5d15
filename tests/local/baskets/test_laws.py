"""The law of basket operators, by a second route: every slot written out, exactly, in fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.belief.breaches import find_worst_property
from discreet.belief.odds import highest_posterior
from discreet.core.randomness import Randomness
from discreet.local.baskets import CutAndPaste, SelectASize, pack_baskets
from discreet.local.baskets.basket_operator import BasketOperator
from discreet.local.baskets.basket_packing import count_items, list_all_baskets, sample_law, sample_slots
from discreet.local.exact_sampling import DIGITS, THRESHOLD_SCALE
from discreet.mechanisms.sampling import Booleans, bound_exp
from tests.statistical import assert_probability

TRIALS = 200_000
Chances = dict[frozenset[int], Fraction]


def subsets(of: frozenset[int]) -> Iterator[frozenset[int]]:
    for size in range(len(of) + 1):
        yield from map(frozenset, combinations(sorted(of), size))


def select_a_size(operator: BasketOperator, basket: frozenset[int]) -> Chances:
    """The paper's words, on items and empty slots alike; then empty slots are struck out of the reports."""
    empty = frozenset(range(operator.items, operator.items + operator.size - len(basket)))
    found: Chances = {}
    for shown in subsets(basket | empty):
        some = operator.kept[len(shown)] / math.comb(operator.size, len(shown))
        for false in subsets(frozenset(range(operator.items)) - basket):
            others = operator.items - len(basket) - len(false)
            report = (shown - empty) | false
            chance = some * operator.noise ** len(false) * (1 - operator.noise) ** others
            found[report] = found.get(report, Fraction()) + chance
    return found


def gamma_by_enumeration(operator: BasketOperator) -> float:
    everything = frozenset(range(operator.items))
    laws = [select_a_size(operator, basket) for basket in subsets(everything) if len(basket) <= operator.size]
    columns = [[law.get(report, Fraction()) for law in laws] for report in subsets(everything)]
    if any(min(column) == 0 for column in columns):
        return math.inf
    return float(max(max(column) / min(column) for column in columns))


@st.composite
def operators(draw_from: st.DrawFn) -> SelectASize:
    items = draw_from(st.integers(2, 5))
    size = draw_from(st.integers(1, min(items, 3)))
    weights = draw_from(st.lists(st.integers(0, 9), min_size=size + 1, max_size=size + 1).filter(any))
    kept = tuple(Fraction(weight, sum(weights)) for weight in weights)
    noise = Fraction(draw_from(st.integers(1, 15)), 16)
    return SelectASize(items=items, size=size, noise=noise, kept=kept)


@given(operators())
def test_gamma_is_that_of_the_enumerated_law(operator: SelectASize) -> None:
    assert operator.gamma == gamma_by_enumeration(operator)


@given(operators())
def test_matrix_is_the_enumerated_law(operator: SelectASize) -> None:
    matrix = operator.matrix()
    for row, words in zip(
        matrix, list_all_baskets(operator.items, operator.size)[:, 0].tolist(), strict=True
    ):
        basket = frozenset(item for item in range(operator.items) if words >> item & 1)
        law = select_a_size(operator, basket)
        for report, chance in law.items():
            assert row[sum(1 << item for item in report)] == pytest.approx(float(chance), rel=1e-12)


@given(operators(), st.data())
def test_no_property_of_a_basket_is_believed_more_than_gamma_allows(
    operator: SelectASize, data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.integers(1, 50), min_size=operator.values, max_size=operator.values))
    prior = np.array(weights) / sum(weights)
    bound = float(prior.min() * 1.5)
    worst = find_worst_property(operator.matrix(), prior, bound)
    assert worst is not None
    if math.isfinite(operator.gamma):
        assert worst.posterior <= highest_posterior(worst.prior, operator.epsilon) * (1 + 1e-9)


def test_a_prior_on_two_baskets_attains_gamma() -> None:
    operator = SelectASize.for_epsilon(1.5, items=5, size=2)
    matrix = operator.matrix()
    report = int(np.argmax(matrix.max(axis=0) / matrix.min(axis=0)))
    prior = np.zeros(operator.values)
    prior[matrix[:, report].argmax()], prior[matrix[:, report].argmin()] = 0.01, 0.99
    after = operator.posterior(prior, np.array([[report]], np.uint64))
    assert after.max() < 1
    assert after[matrix[:, report].argmax()] == pytest.approx(
        highest_posterior(0.01, operator.epsilon), rel=1e-9
    )


@pytest.mark.parametrize(("size", "cutoff"), [(1, 1), (2, 1), (3, 2), (3, 3), (3, 7), (5, 2)])
def test_cut_and_paste_shows_as_many_slots_as_the_paper_says(size: int, cutoff: int) -> None:
    noise = Fraction(3, 8)
    operator = CutAndPaste(items=2 * size, size=size, cutoff=cutoff, noise=noise)
    law = [Fraction()] * (size + 1)
    for j in range(cutoff + 1):
        sure = min(j, size)
        for pasted in range(size - sure + 1):
            ways = math.comb(size - sure, pasted) * noise**pasted * (1 - noise) ** (size - sure - pasted)
            law[sure + pasted] += Fraction(1, cutoff + 1) * ways
    assert operator.kept == tuple(law)
    assert operator.gamma == float(sum(noise ** -min(i, size) for i in range(cutoff + 1)))


def test_cut_and_paste_has_the_gamma_of_its_enumerated_law() -> None:
    for cutoff in (1, 2, 4):
        for items in (3, 4):
            operator = CutAndPaste(items=items, size=2, cutoff=cutoff, noise=Fraction(1, 4))
            assert operator.gamma == gamma_by_enumeration(operator)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), 0.7, 1.6507, math.log(19), 8, 30])
@pytest.mark.parametrize("size", [1, 2, 5, 20, 64])
def test_gamma_under_an_epsilon_is_not_above_it(epsilon: float, size: int) -> None:
    most = 1 / bound_exp(Fraction(epsilon), DIGITS)[1]
    operators: list[BasketOperator] = [SelectASize.for_epsilon(epsilon, items=1000, size=size)]
    if epsilon >= 0.7:
        operators.append(CutAndPaste.for_epsilon(epsilon, items=1000, size=size))
    for operator in operators:
        exactly = [
            chance / (math.comb(size, j) * operator.noise**j * (1 - operator.noise) ** (size - j))
            for j, chance in enumerate(operator.kept)
        ]
        assert 1 < max(exactly) / min(exactly) <= most
        assert operator.gamma > 0.999 * float(most)


def test_baskets_of_any_size_are_sent_by_the_same_law(random: Randomness) -> None:
    operator = SelectASize.for_epsilon(math.log(19), items=130, size=5)
    for basket in ([], [7], [0, 64, 129], [1, 63, 64, 65, 128]):
        reports = operator.randomize_baskets(pack_baskets([basket] * TRIALS, 130), random)
        shown = count_items(reports & pack_baskets([basket], 130))
        each = [math.comb(len(basket), i) * slots(operator, len(basket), i) for i in range(len(basket) + 1)]
        for i, chance in enumerate(each):
            assert_probability(int((shown == i).sum()), TRIALS, chance, family=18)
        false = int(count_items(reports).sum() - shown.sum())
        assert_probability(false, TRIALS * (130 - len(basket)), float(operator.noise), family=18)


def slots(operator: BasketOperator, s: int, i: int) -> float:
    """Pr[of s slots just these i are shown]."""
    m = operator.size
    return float(
        sum(
            operator.kept[j] * Fraction(math.comb(m - s, j - i), math.comb(m, j))
            for j in range(i, m - s + i + 1)
        )
    )


def test_of_a_basket_that_is_too_large_a_uniform_choice_takes_part(random: Randomness) -> None:
    always = (Fraction(0), Fraction(0), Fraction(1))
    operator = SelectASize(items=70, size=2, noise=Fraction(1, 4), kept=always)
    basket = [3, 66, 67, 68]
    reports = operator.randomize_baskets(pack_baskets([basket] * TRIALS, 70), random)
    # a pair takes part with probability 1/6 and is shown for sure, else one or two of it by noise
    part, q = Fraction(1, 6), operator.noise
    for first, second in combinations(basket, 2):
        both = count_items(reports & pack_baskets([[first, second]], 70)) == 2
        chance = part + Fraction(4, 6) * q + part * q**2
        assert_probability(int(both.sum()), TRIALS, float(chance), family=6)


def test_the_law_check_catches_a_client_that_never_clears_an_item(random: Randomness) -> None:
    class Eager(SelectASize):
        def draw_shown_slots(self, clients: int, random: Randomness) -> Booleans:
            return super().draw_shown_slots(clients, random) | sample_slots(
                self.size, np.full(clients, 1), random
            )

    honest = SelectASize.for_epsilon(1, items=20, size=2)
    eager = Eager(items=20, size=2, noise=honest.noise, kept=honest.kept)
    basket = pack_baskets([[4, 5]] * TRIALS, 20)
    none = float(honest.kept[0])
    assert_probability(
        int((count_items(honest.randomize_baskets(basket, random) & basket) == 0).sum()), TRIALS, none
    )
    with pytest.raises(AssertionError):
        assert_probability(
            int((count_items(eager.randomize_baskets(basket, random) & basket) == 0).sum()), TRIALS, none
        )


@pytest.mark.parametrize("need", [0, 1, 3, 4])
def test_every_choice_of_slots_is_equally_likely(need: int, random: Randomness) -> None:
    chosen = sample_slots(4, np.full(TRIALS, need), random)
    assert np.all(chosen.sum(axis=1) == need)
    seen = np.bincount(chosen @ np.array([1, 2, 4, 8]), minlength=16)
    ways = math.comb(4, need)
    for pattern in range(16):
        chance = 1 / ways if pattern.bit_count() == need else 0.0
        assert_probability(int(seen[pattern]), TRIALS, chance, family=16)


def test_sizes_are_drawn_by_any_law_of_fractions(random: Randomness) -> None:
    law = (Fraction(1, 3), Fraction(0), Fraction(1, 7), Fraction(11, 21), Fraction(0))
    seen = np.bincount(sample_law(law, TRIALS, random), minlength=5)
    for hits, chance in zip(seen.tolist(), law, strict=True):
        assert_probability(hits, TRIALS, float(chance), family=5)


@pytest.mark.parametrize(("further", "wanted"), [(b"\x00" * 8, 0), (b"\xff" * 8, 1)])
def test_a_number_that_begins_as_a_boundary_does_is_read_further(further: bytes, wanted: int) -> None:
    third = (THRESHOLD_SCALE // 3).to_bytes(8, "little")
    answers = iter([third, further])
    found = sample_law((Fraction(1, 3), Fraction(2, 3)), 1, Randomness(source=lambda count: next(answers)))
    assert found.tolist() == [wanted]
