"""Scoreboard: a few known ratings of a person identify their whole record in sparse data.

Knows       some of a victim's ratings, each with its stars and day as remembered: within `stars` and `days`
            of what was released, except for a share of at most `wrong` that is plainly wrong. Not which
            record is whose, nor whether the victim is in the release (prior `present`).
Learns      which record is the victim's, and so everything else that the victim rated.
Score       a record gains 1 / ln(supp) for each known rating that it matches within tolerance, where supp
            is the number of people who rated the title: rare titles weigh more [NS08, Section 4]. The best
            record is claimed if at most the share `wrong` is missing from it and its eccentricity,
            (best - second) / sigma over all records' scores, exceeds 1.5 [NS08]. The success is the share of
            victims in the release whose own record was claimed; figures give the share of claims that are
            right and the share of strangers who were given a record. If the truth is unknown, a record counts
            as right as often as it is believed.
            The posterior is Bayes' rule with ratings taken as independent: if a share b of all records
            matches a known rating, the likelihood ratio of the rating is (1 - wrong + wrong b) / b for a
            record that matches it, and `wrong` for one that does not.
Stopped by  nothing that keeps records whole: with coarser days and stars an attacker needs a few more
            ratings. Splitting records, so that no two ratings share one, stops it; so does a promise that
            covers all of a person's ratings together.

Only records that match a known rating are touched: scores are a sparse matrix of victims and records.

[NS08]      Narayanan & Shmatikov, Robust De-anonymization of Large Sparse Datasets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.findings import Finding, Findings, Points, select_strongest
from discreet.attacks.ratings import NOBODY, Integers, KnownRatings, Ratings
from discreet.core.binomial import clopper_pearson
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import is_real, require_count, require_nonnegative, require_probability

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
BLOCK = 1 << 22  # matching ratings held in memory at once
LEAST = 0.01  # Bayes' rule never treats all of an attacker's memory as certain


@dataclass(frozen=True, eq=False)
class BestMatches:
    """For each victim: the best record, its number of matching ratings, its eccentricity and posterior."""

    record: Integers
    matching_ratings: Integers
    eccentricity: Floats
    posterior: Floats


@dataclass(frozen=True, kw_only=True)
class Scoreboard:
    """Re-identification of people's records from a few of their ratings."""

    days: int | None = 14
    stars: int | None = 0
    wrong: float = 0.25
    present: float = 0.5
    eccentricity: float = 1.5

    name: ClassVar[str] = "sparse ratings"
    knows: ClassVar[str] = "a few of a victim's ratings, with stars and days about right, some wrong"
    learns: ClassVar[str] = "which record is the victim's, and so all other ratings"
    stopped_by: ClassVar[str] = "records cut apart, or a promise about all of a person's ratings together"

    def __post_init__(self) -> None:
        for name in ("days", "stars"):
            if getattr(self, name) is not None:
                require_count(self, name, getattr(self, name), minimum=0)
        require_parameter(
            is_real(self.wrong) and 0 <= self.wrong < 1, self, "wrong", self.wrong, "a share below 1"
        )
        require_probability(self, "present", self.present)
        require_nonnegative(self, "eccentricity", self.eccentricity)

    def run(self, release: Ratings, knowledge: KnownRatings) -> Findings:
        """Search the release for every victim, and compare with the truth."""
        _require_consistent_inputs(release, knowledge)
        return _build_findings(self, release, knowledge, self.find_best_matches(release, knowledge))

    def select_claims(self, knowledge: KnownRatings, matches: BestMatches) -> Booleans:
        """Return for which victims the best record is claimed."""
        enough = np.ceil((1 - self.wrong) * knowledge.sizes - 1e-9)
        complete = (matches.matching_ratings >= enough) & (matches.matching_ratings > 0)
        return np.asarray(complete & (matches.eccentricity > self.eccentricity))

    def find_best_matches(self, release: Ratings, knowledge: KnownRatings) -> BestMatches:
        """Score every record for every victim."""
        parts = [
            self._score_block(release, knowledge, *block) for block in self._split_victims(release, knowledge)
        ]
        return BestMatches(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _split_victims(
        self, release: Ratings, knowledge: KnownRatings
    ) -> Iterator[tuple[int, int, Integers]]:
        """Yield ranges of victims whose matching ratings fit into memory, with their positions."""
        order = np.argsort(knowledge.victim, kind="stable")
        first, last = release.find_ranges(knowledge.title[order], knowledge.day[order], self.days)
        starts = np.searchsorted(knowledge.victim[order], np.arange(knowledge.victim_count + 1))
        load = np.concatenate([[0], np.cumsum(last - first)])[starts]
        begin = 0
        while begin < knowledge.victim_count:
            end = max(begin + 1, int(np.searchsorted(load, load[begin] + BLOCK, side="right")) - 1)
            yield begin, end, order[starts[begin] : starts[end]]
            begin = end

    def _score_block(
        self, release: Ratings, knowledge: KnownRatings, begin: int, end: int, places: Integers
    ) -> tuple[Integers, Integers, Floats, Floats]:
        from scipy.sparse import csr_array  # slow to load, and no other attack needs it

        title, victim = knowledge.title[places], knowledge.victim[places] - begin
        known, person = self._find_matching_ratings(
            release, title, knowledge.day[places], knowledge.stars[places]
        )
        share = np.bincount(known, minlength=places.size) / release.people
        weight = 1 / np.log(np.maximum(release.support[title], 2))
        both = weight + 1j * self._log_likelihood_ratio(share)  # one sparse sum for the two of them
        row = victim[known]
        sums = csr_array((both[known], (row, person)), shape=(end - begin, release.people))
        best, eccentricity = _compute_eccentricity(sums, sums.data.real)
        fitting = np.bincount(row[person == best[row]], minlength=end - begin)
        sizes = np.bincount(victim, minlength=end - begin)
        return best, fitting, eccentricity, self._compute_posterior(sums, sums.data.imag, best, sizes)

    def _find_matching_ratings(
        self, release: Ratings, title: Integers, day: Integers, stars: Integers
    ) -> tuple[Integers, NDArray[np.int32]]:
        """Return all pairs of a known rating and a record that matches it."""
        first, last = release.find_ranges(title, day, self.days)
        many = last - first
        known = np.repeat(np.arange(title.size), many)
        spot = np.arange(known.size) + np.repeat(last - np.cumsum(many), many)
        _, people, given = release.title_index
        if self.stars is None:
            return known, people[spot]
        near = np.abs(given[spot] - stars[known]) <= self.stars
        return known[near], people[spot[near]]

    def _log_likelihood_ratio(self, share: Floats) -> Floats:
        """Return the log-likelihood ratio of a known rating, for records that match it over the others."""
        wrong, seen = max(self.wrong, LEAST), np.maximum(share, 1e-300)
        return np.asarray(np.log(1 - wrong + wrong * seen) - np.log(seen) - np.log(wrong))

    def _compute_posterior(
        self, sums: csr_array, evidence: Floats, best: Integers, sizes: Integers
    ) -> Floats:
        """Return the best record's posterior, over all records and absence from the release."""
        victims, people = sums.shape
        held = np.diff(sums.indptr)
        row = np.repeat(np.arange(victims), held)
        nothing = sizes * np.log(max(self.wrong, LEAST))
        absent = np.log((1 - self.present) / self.present * people)
        loss = evidence + nothing[row]
        top = np.maximum(_compute_row_maxima(sums, loss, default=-np.inf), np.maximum(absent, nothing))
        likely = np.exp(loss - top[row])
        total = np.exp(absent - top) + (people - held) * np.exp(nothing - top)
        total += np.bincount(row, likely, minlength=victims)
        return np.asarray(np.bincount(row, likely * (sums.indices == best[row]), minlength=victims) / total)


def _compute_row_maxima(sums: csr_array, values: Floats, *, default: float) -> Floats:
    """Return the greatest value of each row; `default` for an empty row."""
    greatest = np.full(sums.shape[0], default)
    held = np.diff(sums.indptr) > 0
    if held.any():
        greatest[held] = np.maximum.reduceat(values, sums.indptr[:-1][held])
    return greatest


def _compute_eccentricity(sums: csr_array, score: Floats) -> tuple[Integers, Floats]:
    """Return each row's best column (NOBODY if none), and (best - second) / sigma over all columns."""
    victims, people = sums.shape
    row = np.repeat(np.arange(victims), np.diff(sums.indptr))
    first = _compute_row_maxima(sums, score, default=0.0)
    ahead = np.flatnonzero(score == first[row])
    best, places = np.full(victims, NOBODY), np.unique(row[ahead], return_index=True)
    best[places[0]] = sums.indices[ahead[places[1]]]
    others = score.copy()
    others[ahead[places[1]]] = 0
    mean = np.bincount(row, score, minlength=victims) / people
    square = np.bincount(row, score**2, minlength=victims) / people
    sigma = np.sqrt(np.maximum(square - mean**2, 0))
    apart = first - _compute_row_maxima(sums, others, default=0.0)
    return best, np.divide(apart, sigma, out=np.zeros(victims), where=sigma > 0)


def _require_consistent_inputs(release: Ratings, knowledge: KnownRatings) -> None:
    """Raise RequestError unless titles and truth refer to the release."""
    titles, truth = knowledge.title, knowledge.truth
    if titles.min() < 0 or titles.max() >= release.titles:
        raise RequestError(
            f"KnownRatings.title must be numbers from 0 to {release.titles - 1}, the titles of the release.",
            hint="Leave out what is known of other titles.",
        )
    if truth is None:
        return
    if truth.min() < NOBODY or truth.max() >= release.people:
        raise RequestError(
            f"KnownRatings.truth must be a record from 0 to {release.people - 1}, or {NOBODY} for a stranger."
        )
    if (truth == NOBODY).all():
        raise RequestError(
            "No victim is in the release, so there is nobody to find.",
            hint="Give at least one victim with a record.",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Scoring:
    """Victims with a record in the release, and whether the best one is it: certain, or as believed."""

    is_member: Booleans
    right_share: Floats
    is_truth_known: bool

    @classmethod
    def from_truth(cls, knowledge: KnownRatings, matches: BestMatches) -> _Scoring:
        if knowledge.truth is None:
            return cls(
                is_member=np.ones(matches.record.size, np.bool_),
                right_share=matches.posterior,
                is_truth_known=False,
            )
        right = (matches.record == knowledge.truth).astype(np.float64)
        return cls(is_member=knowledge.truth != NOBODY, right_share=right, is_truth_known=True)


def _build_findings(
    attack: Scoreboard, release: Ratings, knowledge: KnownRatings, matches: BestMatches
) -> Findings:
    score, claimed = _Scoring.from_truth(knowledge, matches), attack.select_claims(knowledge, matches)
    hits, members = float(score.right_share[claimed & score.is_member].sum()), int(score.is_member.sum())
    victims = [
        Finding(
            victim=knowledge.name_victim(int(victim)),
            claim=f"record {release.name_record(int(matches.record[victim]))} is theirs",
            prior=attack.present / release.people,
            posterior=float(matches.posterior[victim]),
            truth=bool(score.right_share[victim]) if score.is_truth_known else None,
        )
        for victim in np.flatnonzero(claimed)
    ]
    success = hits / members
    return Findings(
        attack=attack.name,
        knows=attack.knows,
        learns=attack.learns,
        stopped_by=attack.stopped_by,
        success=success,
        baseline=1 / release.people,
        attempts=members,
        interval=clopper_pearson(round(hits), members) if score.is_truth_known else (success, success),
        victims=select_strongest(victims),
        figures=_compute_figures(matches, claimed, score),
        series=_compute_curves(matches, score),
        overall_posterior=float(matches.posterior[claimed].max(initial=0.0)),
    )


def _compute_figures(matches: BestMatches, is_claimed: Booleans, score: _Scoring) -> dict[str, float]:
    member = score.is_member
    figures = {
        "record claimed": float(is_claimed[member].mean()),
        "best record is right": float(score.right_share[member].mean()),
        "wrong record claimed": float((is_claimed * (1 - score.right_share))[member].mean()),
        "posterior of the best record": float(matches.posterior[member].mean()),
    }
    if is_claimed.any():
        figures["precision"] = float(score.right_share[is_claimed].mean())
        figures["recall"] = float(score.right_share[is_claimed & member].sum() / member.sum())
    if not member.all():
        figures["strangers matched"] = float(is_claimed[~member].mean())
    return figures


def _compute_curves(matches: BestMatches, score: _Scoring) -> dict[str, Points]:
    """Return the recall at each threshold, and the share of strangers it would have matched."""
    grid = np.geomspace(0.5, max(1.0, float(matches.eccentricity.max())), 40)

    def share_above_threshold(who: Booleans, right: Floats | float = 1.0) -> Points:
        weight = who * right
        above = [float(weight[matches.eccentricity > at].sum() / who.sum()) for at in grid]
        return tuple(zip(map(float, grid), above, strict=True))

    curves = {"recognized by threshold": share_above_threshold(score.is_member, score.right_share)}
    if not score.is_member.all():
        curves["strangers matched by threshold"] = share_above_threshold(~score.is_member)
    return curves
