"""The source of randomness: uniform, of any size, from the operating system unless a test says otherwise."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from discreet.core.randomness import Randomness
from tests.conftest import seeded
from tests.statistical import assert_probability


def test_the_default_source_is_the_operating_system() -> None:
    """Asked in a process of its own, as tests draw from elsewhere."""
    script = (
        "import os\n"
        "from discreet.core.randomness import SYSTEM, Randomness\n"
        "print(Randomness().source is SYSTEM.source is os.urandom)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout == "True\n"


def test_below_is_uniform(random: Randomness) -> None:
    counts = Counter(random.draw_below(5) for _ in range(20_000))
    assert sorted(counts) == [0, 1, 2, 3, 4]
    for value in range(5):
        assert_probability(counts[value], 20_000, 0.2, family=5)


@given(st.integers(1, 1 << 90), st.integers(0, 1 << 32))
def test_below_stays_below(bound: int, seed: int) -> None:
    assert 0 <= seeded(seed).draw_below(bound) < bound


@given(st.integers(0, 200), st.integers(0, 1 << 32))
def test_bits_has_as_many_bits_as_asked(count: int, seed: int) -> None:
    assert 0 <= seeded(seed).draw_bits(count) < 1 << count


def test_every_bit_of_a_word_is_fair(random: Randomness) -> None:
    words = random.draw_words(20_000)
    for place in range(64):
        ones = int(((words >> place) & 1).sum())
        assert_probability(ones, 20_000, 0.5, family=64)
