"""A trial in a few sentences."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.app.trials.trial import Trial, Tried
from discreet.attacks import Linkage
from discreet.belief.wording import number, percent

NOTHING = "nothing"


def learned(tried: Tried, *, longest: int = 1000) -> str:
    """The claim that gained the most, of whom, and from what to what."""
    gained = [each for each in tried.findings.victims if each.posterior > each.prior]
    if not gained:
        return NOTHING if tried.run.about_people else "–"
    best = gained[0]
    whom = best.victim if len(best.victim) <= longest else f"{best.victim[: longest - 1]}…"
    return f"{whom}: {best.claim}, {percent(best.prior)} → {percent(best.posterior)}"


def verdict(trial: Trial) -> Iterator[tuple[str, str]]:
    """The sentences that matter, each with its tone."""
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
                f"{percent(victim.posterior)} after it and {percent(victim.prior)} before."
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
    terms = f"{percent(promise.prior)} → {percent(promise.posterior)}, odds times {number(promise.gamma)}"
    said = f"The promise ({terms})"
    passed = [tried for tried in trial.tried if tried.findings.victims and not tried.keeps(promise)]
    if not passed:
        return f"{said} held: no attack moved the odds of a claim further.", "good"
    names = ", ".join(dict.fromkeys(tried.findings.attack for tried in passed))
    return f"{said} does not hold for this release: {names} moved the odds of a claim further.", "bad"
