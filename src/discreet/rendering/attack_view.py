"""An attack evaluation in sentences, on the terminal, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.anonymity.risk.reidentification_risk import AttackerRisks
from discreet.attacks import Linkage, Uniqueness
from discreet.attacks.anonymization_criteria import Criteria, Criterion
from discreet.attacks.findings import Finding
from discreet.belief.wording import format_number, format_percent
from discreet.rendering.terminal import build_plain_table
from discreet.services.attack.evaluation import AttackEvaluation, JudgedRun, ReleaseKind

MAX_VICTIM_LENGTH = 40
NOTHING_LEARNED = "nothing"
OPTION_HINTS: dict[str, str] = {
    ReleaseKind.TABLE: "name its file, and --quasi or --policy",
    ReleaseKind.RATINGS: "name the column of what was rated with --title",
    ReleaseKind.FREQUENCIES: "give --genomes and --reference",
    ReleaseKind.SYNTHETIC: "name people who are not in the data with --panel",
}
"""How the command line asks for attacks on another kind of release."""
TONE_STYLES = {"good": "green", "bad": "red", "": ""}


def describe_strongest_claim(judged_run: JudgedRun, *, max_length: int = 1000) -> str:
    """Return the claim that gained the most, with its victim, prior and posterior."""
    gained = [each for each in judged_run.findings.victims if each.posterior > each.prior]
    if not gained:
        return NOTHING_LEARNED if judged_run.run.is_about_people else "–"
    best = gained[0]
    whom = best.victim if len(best.victim) <= max_length else f"{best.victim[: max_length - 1]}…"
    return f"{whom}: {best.claim}, {format_percent(best.prior)} → {format_percent(best.posterior)}"


@dataclass(frozen=True, kw_only=True)
class SuccessRates:
    """Success rates of an attack and of guessing; `qualifier` gives their share of people or interval."""

    success: str
    guessing: str
    qualifier: str = ""


def format_success_rates(judged_run: JudgedRun) -> SuccessRates:
    """Return success rates over an attack's claims if some people have none, else over all attempts."""
    found = judged_run.findings
    guesses = found.figures.get("precision of guesses")
    claimed = 1.0 if guesses is None else found.figures["claimed"]
    if claimed == 0:
        return SuccessRates(success="–", guessing="–", qualifier="of 0%")
    if guesses is not None and claimed < 1:
        right = format_percent(found.figures["precision"])
        return SuccessRates(
            success=right, guessing=format_percent(guesses), qualifier=f"of {format_percent(claimed)}"
        )
    low, high = found.interval
    beside = "" if low == high else f"{format_number(100 * low)}–{format_percent(high)}"
    return SuccessRates(
        success=format_percent(found.success), guessing=format_percent(found.baseline), qualifier=beside
    )


def explain_success_rates(evaluation: AttackEvaluation) -> Iterator[str]:
    """Yield explanations of the success rates, and the finding on uniqueness in the register."""
    beside = [format_success_rates(tried).qualifier for tried in select_release_runs(evaluation)]
    if any(each.startswith("of ") for each in beside):
        yield "right: the share of an attack's claims that are true, then the share of people claimed about."
    if any("–" in each for each in beside):
        yield "right: the share in a sample of people, then its 95% confidence interval."
    for tried in evaluation.runs:
        if tried.findings.attack == Uniqueness.name:
            alone = format_percent(tried.findings.success)
            yield (
                f"{alone} of people are unique by the values that are known, whatever is released "
                "(uniqueness)."
            )


def select_release_runs(evaluation: AttackEvaluation) -> tuple[JudgedRun, ...]:
    """Return the runs against the release; uniqueness is about a register."""
    return tuple(tried for tried in evaluation.runs if tried.findings.attack != Uniqueness.name)


def describe_verdict(evaluation: AttackEvaluation) -> Iterator[tuple[str, str]]:
    """Yield the main sentences, each with its tone."""
    worst = evaluation.strongest_run
    yield from ((sentence, "bad") for sentence in evaluation.unreadable_labels)
    if any(
        tried.findings.attack == Linkage.name and not tried.findings.attempts for tried in evaluation.runs
    ):
        yield "No row of the release fits anybody who is known.", ""
    if worst is None or worst.best_finding is None:
        yield "No attack that was run raised its belief in anything.", "good"
    else:
        victim = worst.best_finding
        yield (
            (
                f"The strongest attack is {worst.name}: its belief about {victim.victim} that {victim.claim} "
                f"rises from {format_percent(victim.prior)} to {format_percent(victim.posterior)}."
            ),
            "",
        )
    if any(tried.bounds for tried in evaluation.runs):
        broken = len(evaluation.broken_bounds)
        yield (
            ("No bound that was set is broken.", "good")
            if not broken
            else (f"{broken} of the bounds that were set {'is' if broken == 1 else 'are'} broken.", "bad")
        )
    if evaluation.promise is not None:
        yield _describe_promise(evaluation)


def _describe_promise(evaluation: AttackEvaluation) -> tuple[str, str]:
    promise = evaluation.promise
    assert promise is not None
    terms = (
        f"{format_percent(promise.prior)} → {format_percent(promise.posterior)}, odds times "
        f"{format_number(promise.gamma)}"
    )
    said = f"The promise ({terms})"
    passed = [
        tried for tried in evaluation.runs if tried.findings.victims and not tried.keeps_promise(promise)
    ]
    if not passed:
        return f"{said} held: no attack moved the odds of a claim further.", "good"
    names = ", ".join(dict.fromkeys(tried.findings.attack for tried in passed))
    return f"{said} does not hold for this release: {names} moved the odds of a claim further.", "bad"


def evaluation_to_json(evaluation: AttackEvaluation) -> dict[str, object]:
    """Return an evaluation as a JSON object."""
    return {
        "subject": evaluation.subject,
        "sha256": evaluation.sha256,
        "knowledge": evaluation.knowledge,
        "attacks": [_attack_to_json(tried) for tried in evaluation.runs],
        "not_run": [{"name": each.name, "why": each.reason} for each in evaluation.skipped],
        "criteria": None if evaluation.criteria is None else _criteria_to_json(evaluation.criteria),
        "bounds_held": not evaluation.broken_bounds,
        "promise": None if evaluation.promise is None else _promise_to_json(evaluation),
        "assumed": [*evaluation.assumptions, *evaluation.remarks],
        "unread": list(evaluation.unreadable_labels),
    }


def _attack_to_json(judged_run: JudgedRun) -> dict[str, object]:
    found = judged_run.findings
    return {
        "name": found.attack,
        "column": judged_run.run.column,
        "success": found.success,
        "baseline": found.baseline,
        "interval": list(found.interval),
        "attempts": found.attempts,
        "highest": found.highest_posterior,
        "victims": [_finding_to_json(each) for each in found.victims],
        "figures": {name: _finite_or_none(value) for name, value in found.figures.items()},
        "series": {name: [list(point) for point in points] for name, points in found.series.items()},
        "bounds": [each.to_json() | {"held": each.is_met_by(found)} for each in judged_run.bounds],
        "knows": found.knows,
        "learns": found.learns,
        "stopped_by": found.stopped_by,
        "note": found.note,
    }


def _finding_to_json(finding: Finding) -> dict[str, object]:
    return {
        "victim": finding.victim,
        "claim": finding.claim,
        "prior": finding.prior,
        "posterior": finding.posterior,
        "truth": finding.truth,
    }


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _criteria_to_json(criteria: Criteria) -> dict[str, object]:
    def criterion_to_json(each: Criterion) -> dict[str, object]:
        learned = {} if each.learned_share is None else {"learned": each.learned_share}
        return {"share": each.share, "baseline": each.baseline, "sentence": each.sentence, **learned}

    return {
        "singling_out": criterion_to_json(criteria.singling_out),
        "linkability": criterion_to_json(criteria.linkability),
        "inference": {
            each.name.removeprefix("inference of "): criterion_to_json(each) for each in criteria.inference
        },
        "risk": None if criteria.risks is None else _risks_to_json(criteria.risks),
    }


def _risks_to_json(risks: AttackerRisks) -> dict[str, float]:
    return {
        "prosecutor_highest": risks.prosecutor.highest,
        "journalist_highest": risks.journalist.highest,
        "marketer": risks.marketer,
    }


def _promise_to_json(evaluation: AttackEvaluation) -> dict[str, object]:
    promise = evaluation.promise
    assert promise is not None
    kept = all(tried.keeps_promise(promise) for tried in evaluation.runs)
    return {"prior": promise.prior, "posterior": promise.posterior, "gamma": promise.gamma, "held": kept}


def print_evaluation(console: Console, evaluation: AttackEvaluation) -> None:
    """Print verdict, attacks, criteria and skipped attacks."""
    for sentence in (f"Attackers know {evaluation.knowledge}.", *evaluation.remarks):
        console.print(sentence, highlight=False, markup=False)
    console.print()
    print_attacks(console, evaluation)
    console.print()
    for text, tone in describe_verdict(evaluation):
        console.print(text, style=TONE_STYLES[tone], highlight=False, markup=False)
    if evaluation.criteria is not None:
        console.print()
        console.print(_build_criteria_table(evaluation.criteria))
    if evaluation.skipped:
        console.print("\nnot run", style="bold")
        for why, those in evaluation.skipped_by_reason.items():
            kind = those[0].release_kind
            which = f"on {kind}" if kind else ", ".join(each.name for each in those)
            how = OPTION_HINTS.get(kind, why)
            console.print(f"{which}: {how}", style="dim", highlight=False, markup=False)


def print_attacks(console: Console, evaluation: AttackEvaluation) -> None:
    """Print each attack's findings, and the legend."""
    console.print(_build_attacks_table(evaluation))
    for line in explain_success_rates(evaluation):
        console.print(line, style="dim", highlight=False, markup=False)


def _build_attacks_table(evaluation: AttackEvaluation) -> Table:
    """Return a table with one line per attack: success, guessing, and the strongest claim."""
    table = build_plain_table("attack", gap=2)
    for heading in ("right", "guessing"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("the most learned about one person")
    bounded = any(tried.bounds for tried in evaluation.runs)
    if bounded:
        table.add_column("bound", no_wrap=True)
    for tried in select_release_runs(evaluation):
        score = format_success_rates(tried)
        right = "\n".join(filter(None, (score.success, score.qualifier)))
        cells = (right, score.guessing, describe_strongest_claim(tried, max_length=MAX_VICTIM_LENGTH))
        table.add_row(tried.name, *cells, *([_format_bound(tried)] if bounded else []))
    return table


def _format_bound(judged_run: JudgedRun) -> Text:
    cap = judged_run.broken_bounds[0] if judged_run.broken_bounds else judged_run.tightest_bound
    if cap is None:
        return Text()
    return Text(f"{cap.text}: broken", "red") if judged_run.broken_bounds else Text(cap.text, "green")


def _build_criteria_table(criteria: Criteria) -> Table:
    table = build_plain_table("European criteria", "of people", "by chance", text_columns=1, gap=2)
    for each in (criteria.singling_out, criteria.linkability, *criteria.inference):
        table.add_row(each.name, format_percent(each.share), format_percent(each.baseline))
    risks = criteria.risks
    if risks is None:
        return table
    table.add_row("")
    table.add_row("prosecutor, highest", format_percent(risks.prosecutor.highest), "")
    table.add_row("journalist, highest", format_percent(risks.journalist.highest), "")
    table.add_row("marketer, on average", format_percent(risks.marketer), "")
    return table
