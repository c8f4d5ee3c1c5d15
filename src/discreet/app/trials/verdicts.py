"""Sentences on an attack evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.app.trials.trial import Trial, Tried
from discreet.attacks import Linkage, Uniqueness
from discreet.belief.wording import format_number, format_percent

NOTHING = "nothing"


def learned(tried: Tried, *, longest: int = 1000) -> str:
    """Return the claim that gained the most, with its victim, prior and posterior."""
    gained = [each for each in tried.findings.victims if each.posterior > each.prior]
    if not gained:
        return NOTHING if tried.run.about_people else "–"
    best = gained[0]
    whom = best.victim if len(best.victim) <= longest else f"{best.victim[: longest - 1]}…"
    return f"{whom}: {best.claim}, {format_percent(best.prior)} → {format_percent(best.posterior)}"


@dataclass(frozen=True, kw_only=True)
class Scored:
    """Success rates of an attack and of guessing; `qualifier` gives their share of people or interval."""

    right: str
    guessing: str
    beside: str = ""


def scored(tried: Tried) -> Scored:
    """Return success rates over an attack's claims if some people have none, else over all attempts."""
    found = tried.findings
    guesses = found.figures.get("precision of guesses")
    claimed = 1.0 if guesses is None else found.figures["claimed"]
    if claimed == 0:
        return Scored(right="–", guessing="–", beside="of 0%")
    if guesses is not None and claimed < 1:
        right = format_percent(found.figures["precision"])
        return Scored(right=right, guessing=format_percent(guesses), beside=f"of {format_percent(claimed)}")
    low, high = found.interval
    beside = "" if low == high else f"{format_number(100 * low)}–{format_percent(high)}"
    return Scored(right=format_percent(found.success), guessing=format_percent(found.baseline), beside=beside)


def legend(trial: Trial) -> Iterator[str]:
    """Yield explanations of the success rates, and the finding on uniqueness in the register."""
    beside = [scored(tried).beside for tried in on_release(trial)]
    if any(each.startswith("of ") for each in beside):
        yield "right: of the claims that are made, and of how many of the people there is one."
    if any("–" in each for each in beside):
        yield "right: of a sample of people, and where the share lies with 95% confidence."
    for tried in trial.tried:
        if tried.findings.attack == Uniqueness.name:
            alone = format_percent(tried.findings.success)
            yield (
                f"By the values that are known {alone} of people are alone, whatever is released "
                "(uniqueness)."
            )


def on_release(trial: Trial) -> tuple[Tried, ...]:
    """Return the runs against the release; uniqueness is about a register."""
    return tuple(tried for tried in trial.tried if tried.findings.attack != Uniqueness.name)


def verdict(trial: Trial) -> Iterator[tuple[str, str]]:
    """Yield the main sentences, each with its tone."""
    worst = trial.strongest
    yield from ((sentence, "bad") for sentence in trial.unread)
    if any(tried.findings.attack == Linkage.name and not tried.findings.attempts for tried in trial.tried):
        yield "No row of the release fits anybody who is known.", ""
    if worst is None or worst.best is None:
        yield "No attack that was run came to believe anything more than before.", "good"
    else:
        victim = worst.best
        yield (
            (
                f"The strongest is {worst.name}: of {victim.victim} it is believed that {victim.claim}, with "
                f"{format_percent(victim.posterior)} after it and {format_percent(victim.prior)} before."
            ),
            "",
        )
    if any(tried.bounds for tried in trial.tried):
        broken = len(trial.broken)
        yield (
            ("No bound that was set is broken.", "good")
            if not broken
            else (f"{broken} of the bounds that were set {'is' if broken == 1 else 'are'} broken.", "bad")
        )
    if trial.promise is not None:
        yield _promised(trial)


def _promised(trial: Trial) -> tuple[str, str]:
    promise = trial.promise
    assert promise is not None
    terms = (
        f"{format_percent(promise.prior)} → {format_percent(promise.posterior)}, odds times "
        f"{format_number(promise.gamma)}"
    )
    said = f"The promise ({terms})"
    passed = [tried for tried in trial.tried if tried.findings.victims and not tried.keeps(promise)]
    if not passed:
        return f"{said} held: no attack moved the odds of a claim further.", "good"
    names = ", ".join(dict.fromkeys(tried.findings.attack for tried in passed))
    return f"{said} does not hold for this release: {names} moved the odds of a claim further.", "bad"
