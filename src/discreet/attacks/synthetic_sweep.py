"""All attacks on synthetic data, with the most revealing columns found automatically.

Choice      half of the people choose the columns, the other half judge them: what was chosen because it
            looked worst is judged on people who had no part in the choice.
Sets        the number of synthetic rows that each set of up to four columns tells apart selects the sets to
            try (`anonymity.risk.quasi_identifier_discovery`). An engine may count them; otherwise they are
            counted here, with numbers in hundredths.
Tried       singling out: the sets that tell most rows apart, of each size, and all columns; numbers equal, or
            within a thousandth or a hundredth of the synthetic values.
            linkability: these sets against all other columns, and all columns split alternately.
            attribute inference: every column (or each of `secrets`) from all others, and from these sets; by
            the nearest rows always, or only if they are near.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.risk.quasi_identifier_discovery import (
    Count,
    discover_quasi_identifiers,
    make_tuple_counter,
)
from discreet.attacks.findings import Findings
from discreet.attacks.nearest_records import MISSING, UNIT, Places
from discreet.attacks.panel_evaluation import Floats
from discreet.attacks.synthetic_attacks import (
    AttributeInference,
    ConstantGuess,
    Linkability,
    SinglingOut,
    choose_constant,
    find_constant_guess,
    vote_by_nearest_rows,
)
from discreet.attacks.synthetic_release import SyntheticRelease, choose_evenly

MAX_SET_SIZE = 4
SETS_PER_SIZE = 2
SELECTION_PEOPLE = 300
COUNTED_ROWS = 20_000
CELLS = 100
WIDTHS = (0.0, 0.001, 0.01)
DISTANCE_QUANTILES = (0.1, 0.25, 0.5, 0.75)
Sets = list[tuple[str, ...]]
Votes = list[tuple[Places, Floats]]


def sweep_attacks(
    release: SyntheticRelease, *, count: Count | None = None, secrets: Sequence[str] = ()
) -> tuple[Findings, Findings, Findings]:
    """Run singling out, linkability and attribute inference, each with its most revealing columns.

    `count` returns how often tuples of columns occur in the synthetic table; `secrets` are the columns that
    an attacker is after, by default all.
    """
    shown, judged = release.take_every(0).limit_people(SELECTION_PEOPLE), release.take_every(1)
    sets = find_revealing_column_sets(release, count)
    return (
        _select_strongest_attack(shown, _list_singling_out_attacks(release, sets)).run(judged),
        _select_strongest_attack(shown, _list_linkability_attacks(release, sets)).run(judged),
        _select_strongest_inference(shown, sets, secrets or release.columns).run(judged),
    )


def find_revealing_column_sets(release: SyntheticRelease, count: Count | None = None) -> Sets:
    """Return, for each size up to four, the column sets that tell most synthetic rows apart."""
    most = min(MAX_SET_SIZE, len(release.columns))
    found = discover_quasi_identifiers(
        release.columns, count or make_tuple_counter(_discretize_rows(release), release.columns), most=most
    )
    return [
        each.columns
        for size in range(1, most + 1)
        for each in [one for one in found if len(one.columns) == size][:SETS_PER_SIZE]
    ]


def _discretize_rows(release: SyntheticRelease) -> Tuples:
    """Return some synthetic rows, words as they are and numbers in hundredths of the synthetic values."""
    table = release.synthetic[:, choose_evenly(release.synthetic.shape[1], COUNTED_ROWS)]
    cells = np.where(release.numeric[:, None], table.astype(np.int64) * CELLS // UNIT, table)
    codes = np.minimum(cells, MISSING).astype(np.int32).T
    return Tuples(codes=np.ascontiguousarray(codes), counts=np.ones(len(codes), np.int64))


def _list_singling_out_attacks(release: SyntheticRelease, sets: Sets) -> Iterator[SinglingOut]:
    """Yield the singling-out attacks to try."""
    for columns in [*sets, release.columns]:
        numbers = release.numeric[release.find_column_indexes(columns)].any()
        for width in WIDTHS if numbers else WIDTHS[:1]:
            yield SinglingOut(columns=columns, width=width)


def _list_linkability_attacks(release: SyntheticRelease, sets: Sets) -> Iterator[Linkability]:
    """Yield the linkability attacks to try."""
    alone = [columns[0] for columns in sets if len(columns) == 1]
    dealt = [*alone, *(name for name in release.columns if name not in alone)][::2]
    for first in [*sets, tuple(dealt)]:
        if len(first) < len(release.columns):
            yield Linkability(first=first)


def _select_strongest_attack(
    release: SyntheticRelease, attacks: Iterator[SinglingOut] | Iterator[Linkability]
) -> SinglingOut | Linkability:
    """Return the attack that gains the most over its baseline."""
    found = [(attack, attack.run(release)) for attack in attacks]
    return max(found, key=lambda each: each[1].success - each[1].baseline)[0]


def _select_strongest_inference(
    release: SyntheticRelease, sets: Sets, secrets: Sequence[str]
) -> AttributeInference:
    """Return the secret, known columns and distance limit that gain the most over guessing."""
    places = release.find_column_indexes(tuple(secrets))
    usual = [find_constant_guess(release, int(place), AttributeInference.close) for place in places]
    largest = [columns for columns in sets if len(columns) > MAX_SET_SIZE // 2]
    found = [
        (_compute_inference_gain(release, attack, int(places[place]), told, usual[place]), attack)
        for known in [(), *largest]
        for place, told in _vote_secrets(release, known, places)
        if secrets[place] not in known
        for attack in _vary_distance_limits(
            AttributeInference(secret=secrets[place], known=known), told[0][1]
        )
    ]
    return max(found, key=lambda each: each[0])[1]


def _vote_secrets(
    release: SyntheticRelease, known: tuple[str, ...], secrets: Integers
) -> Iterator[tuple[int, Votes]]:
    """Yield each secret's votes of the nearest rows for victims and panel, and the rows' distances."""
    columns = known or release.columns
    share = len(columns) if known else len(columns) - 1
    sides = [
        vote_by_nearest_rows(release, people, columns, secrets)
        for people in (release.victims, release.panel_victims)
    ]
    for place in range(len(secrets)):
        yield place, [(said[place], far[place] / share) for said, far in sides]


def _vary_distance_limits(attack: AttributeInference, distances: Floats) -> Iterator[AttributeInference]:
    """Yield the attack without and with distance limits."""
    yield attack
    for share in np.quantile(distances, DISTANCE_QUANTILES):
        yield replace(attack, within=min(1.0, float(share) / UNIT))


def _compute_inference_gain(
    release: SyntheticRelease,
    attack: AttributeInference,
    secret: int,
    votes: Votes,
    constant_guess: ConstantGuess,
) -> float:
    """Return the success on victims minus the better of the panel's and the constant guess's."""
    victims, panel = (
        float(attack.score_guesses(people[secret], said, far, constant_guess).right.mean())
        for people, (said, far) in zip((release.victims, release.panel_victims), votes, strict=True)
    )
    return victims - max(
        panel, choose_constant(release.victims[secret], constant_guess.is_number, attack.close)[1]
    )
