"""Attacks on published allele frequencies: membership of people in the study.

People      `genomes` are people of the study, a column each; the claim that they were in it is true.
Panel       people of the same origin who were not in it. Half of them calibrate the statistic, the others
            measure false positives; if they are few, all calibrate. Without a panel, people are
            simulated from the reference's frequencies, with independent SNPs.
Noise       `epsilon` says that the counts were published with discrete Laplace noise, this much for a person
            over all SNPs; the attack accounts for the noise, and what epsilon allows is the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.attacks import GenomeMembership
from discreet.attacks.allele_frequencies import (
    AlleleShares,
    Frequencies,
    Genotypes,
    NamedGenomes,
    draw_genotypes,
    find_shared_snps,
    read_genomes,
    read_shares,
)
from discreet.attacks.findings import Findings
from discreet.attacks.genome_membership import MIN_PANEL
from discreet.belief.odds import highest_posterior
from discreet.belief.wording import format_number, format_percent
from discreet.core.column_entry import ColumnType
from discreet.core.errors import RequestError
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.services.addresses import parse_engine_address
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import (
    AttackEvaluation,
    AttackRun,
    BeliefBound,
    apply_bounds,
    skip_other_attacks,
)
from discreet.services.attack.target_release import compute_sha256
from discreet.services.policies import load_policy
from discreet.services.progress import ProgressCallback
from discreet.services.publishers import open_publisher
from discreet.services.source_tables import build_file_table, choose_engine, read_engine_schema

SIMULATED_PEOPLE = 400
ROUNDING_SLACK = 1 + 1e-9
NUMERIC_TYPES = (ColumnType.INTEGER, ColumnType.DECIMAL)
STATISTICS = (GenomeMembership(), GenomeMembership(statistic="homer"))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Study:
    """The published frequencies, the people judged, and people who were not in the study."""

    published: Frequencies
    reference: Frequencies
    members: Genotypes
    names: tuple[str, ...]
    outsiders: Genotypes
    panel: Genotypes
    assumptions: tuple[str, ...]


def attack_frequencies(request: AttackRequest, report_progress: ProgressCallback) -> AttackEvaluation:
    """Judge everybody by both statistics."""
    for name, given in (("genomes", request.genomes), ("reference", request.reference)):
        if given is None:
            raise RequestError(
                f"attack: `{name}=` is missing: frequencies are attacked with genomes and a reference.",
                hint=f'Add `{name}="FILE"`, with a row for each SNP.',
            )
    report_progress("reading frequencies and genomes")
    address = _resolve_engine_address(request)
    study = _read_study(request, address)
    report_progress("judging who was in the study")
    runs = [AttackRun(findings=_judge_candidates(attack, study)) for attack in STATISTICS]
    return AttackEvaluation(
        subject=Path(request.release).name,
        knowledge=f"the genomes of {len(study.names):,} people, over {study.published.share.size:,} SNPs",
        runs=apply_bounds(runs, (*_bounds_from_epsilon(study.published), *request.bounds)),
        skipped=skip_other_attacks(GenomeMembership),
        assumptions=study.assumptions,
        sha256=compute_sha256(parse_engine_address(address).source_from_name(request.release)),
    )


def _judge_candidates(attack: GenomeMembership, study: _Study) -> Findings:
    candidates = np.concatenate([study.members, study.outsiders])
    member = np.arange(len(candidates)) < len(study.members)
    others = [f"outsider {who + 1}" for who in range(len(study.outsiders))]
    return attack.run(
        study.published,
        study.reference,
        candidates=candidates,
        is_member=member,
        panel=study.panel,
        names=[*study.names, *others],
    )


def _bounds_from_epsilon(published: Frequencies) -> tuple[BeliefBound, ...]:
    if published.epsilon is None:
        return ()
    by = f"epsilon {format_number(float(published.epsilon))} over all SNPs"
    most = min(1.0, highest_posterior(STATISTICS[0].prior, float(published.epsilon)) * ROUNDING_SLACK)
    return (BeliefBound(limit=most, source=by),)


def _resolve_engine_address(request: AttackRequest) -> str:
    """Return the engine's address: as requested, else as in the policy."""
    if request.engine is not None or request.policy is None:
        return choose_engine(None, request.engine)
    return load_policy(request.policy).engine


def _read_study(request: AttackRequest, address: str) -> _Study:
    asked = [("", request.release), ("the reference ", request.reference), ("the genomes ", request.genomes)]
    asked += [("the panel ", request.panel)] if request.panel is not None else []
    files = {f"{called}{Path(file or '').name}": file or "" for called, file in asked}
    release, standard, genomes, *others = files
    tables = {name: build_file_table(file, {}, engine=address) for name, file in files.items()}
    with open_publisher(address, tables) as engine:
        shares, standing = (
            read_shares(engine, name, _list_numeric_columns(address, files[name]))
            for name in (release, standard)
        )
        people = read_genomes(engine, genomes)
        panel = next((read_genomes(engine, name) for name in others), None)
    snps = find_shared_snps(shares, standing, people, *(() if panel is None else (panel,)))
    reference = Frequencies(share=standing.select_snps(snps), people=standing.people)
    chosen = people if request.victim is None else people.select_person(_parse_victim_name(request))
    outside, judging, said = _select_outsiders(panel, reference, snps)
    return _Study(
        published=_build_published_frequencies(request, shares, snps),
        reference=reference,
        members=chosen.select_snps(snps),
        names=chosen.names,
        outsiders=outside,
        panel=judging,
        assumptions=(*said, *_list_assumptions(shares, standing, snps)),
    )


def _list_numeric_columns(address: str, named: str) -> list[str]:
    return [name for name, kind in read_engine_schema(address, named)[1] if kind in NUMERIC_TYPES]


def _parse_victim_name(request: AttackRequest) -> str:
    values = request.victim or {}
    if list(values) != ["name"]:
        raise RequestError(
            "attack: `victim=` must name a column of `genomes=`.", hint='Write `victim="name=COLUMN"`.'
        )
    return values["name"]


def _build_published_frequencies(request: AttackRequest, shares: AlleleShares, snps: pa.Array) -> Frequencies:
    people = request.people or shares.people
    if people is None:
        raise RequestError(
            f"attack: the number of people behind {shares.table} is unknown.",
            hint="Add `people=N`, or a column people.",
        )
    share = shares.select_snps(snps)
    if request.epsilon is None:
        return Frequencies(share=share, people=people)
    epsilon = Fraction(request.epsilon)
    noise = DiscreteLaplace(epsilon=epsilon, sensitivity=2 * len(shares.snps)).variance
    return Frequencies(share=share, people=people, noise=noise, epsilon=epsilon)


def _select_outsiders(
    panel: NamedGenomes | None, reference: Frequencies, snps: pa.Array
) -> tuple[Genotypes, Genotypes, tuple[str, ...]]:
    """Return the outsiders to judge, the panel that calibrates, and the assumptions about them."""
    if panel is None:
        made = draw_genotypes(
            SIMULATED_PEOPLE, reference.clipped_shares, np.random.Generator(np.random.Philox(0))
        )
        said = (
            f"There was no panel: {SIMULATED_PEOPLE} people were drawn by the reference's frequencies, "
            "with independent SNPs. Of real people who were not in the study, more may be mistaken for "
            "members.",
        )
        return made[:0], made, said
    people = panel.select_snps(snps)
    if len(people) < 2 * MIN_PANEL:
        return people[:0], people, ("The panel is small, so all of it calibrates the statistic.",)
    said = ("Every other person of the panel calibrates the statistic; the others are judged like members.",)
    return people[1::2], people[::2], said


def _list_assumptions(shares: AlleleShares, reference_shares: AlleleShares, snps: pa.Array) -> list[str]:
    said = [
        f"Beforehand, attackers believe with {format_percent(STATISTICS[0].prior)} that a person was in the "
        "study."
    ]
    if reference_shares.people is None:
        said.append("The reference does not say how many people it counts, so it is taken as exact.")
    if len(snps) < len(shares.snps):
        said.append(
            f"{len(shares.snps) - len(snps):,} SNPs were left out, as not every table has all their values."
        )
    return said
