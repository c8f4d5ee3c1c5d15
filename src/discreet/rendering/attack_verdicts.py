"""Sentences on an attack evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.attacks import Linkage, Uniqueness
from discreet.belief.wording import format_number, format_percent
from discreet.services.attack.evaluation import AttackEvaluation, JudgedRun

NOTHING_LEARNED = "nothing"


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
                f"By the values that are known {alone} of people are alone, whatever is released "
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
        yield "No attack that was run came to believe anything more than before.", "good"
    else:
        victim = worst.best_finding
        yield (
            (
                f"The strongest is {worst.name}: of {victim.victim} it is believed that {victim.claim}, with "
                f"{format_percent(victim.posterior)} after it and {format_percent(victim.prior)} before."
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
