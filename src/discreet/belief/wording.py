"""Numbers, percentages and odds as people read them, and the text of a promise with its limits."""

from __future__ import annotations

import math
from typing import Protocol

from discreet.belief.odds import highest_posterior
from discreet.core.neighbor_relations import Relation

CLAIMS = {
    Relation.VALUE: ("what one person's record says", "what the records of any {group} people say together"),
    Relation.PRESENCE: ("whether one person is in the data", "which of any {group} people are in the data"),
}

TINY = 1e-15
"""Below it a chance is given only by its power of ten."""

GENERAL = (
    "What is true of people in general. If a study finds that smoking harms, everyone knows more about a "
    "smoker, whether or not the smoker took part."
)


ATTACKER = "knows all other records, or takes records as independent"
"""The attacker of a private release, in its certificate."""


def format_number(value: float, digits: int = 3) -> str:
    """Return `value` in `digits` significant digits, without exponent or trailing zeros.

    >>> format_number(5.2105263), format_number(0.1650681), format_number(99.00000001), format_number(48842)
    ('5.21', '0.165', '99', '48,842')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "infinity"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_number_up(value: float, digits: int = 3) -> str:
    """Return the number rounded up in its last digit, so that an error of at most this much is one.

    >>> [format_number_up(value) for value in (0.2301, 60.0, 99.91, 1420.2, 0.1 + 0.2)]
    ['0.231', '60', '100', '1,421', '0.3']
    """
    if value <= 0 or not math.isfinite(value):
        return format_number(value, digits)
    scale = 10 ** max(0, digits - 1 - math.floor(math.log10(value)))
    # a value above a digit by less than a float's precision counts as that digit
    return format_number(math.ceil(value * scale * (1 - 1e-12)) / scale, digits)


def format_count(count: int, one: str, many: str) -> str:
    """Return a count with its noun, in the singular or plural.

    >>> format_count(1, "class", "classes"), format_count(1200, "class", "classes")
    ('1 class', '1,200 classes')
    """
    return f"{count:,} {one if count == 1 else many}"


def format_percentage_points(share: float) -> str:
    """Return a difference of percentages in percentage points.

    >>> format_percentage_points(0.01), format_percentage_points(0.2)
    ('1 percentage point', '20 percentage points')
    """
    text = format_number(100 * share)
    return f"{text} percentage point{'' if text == '1' else 's'}"


def format_percent(p: float) -> str:
    """Return a probability or a relative error as a percentage; only an exact 0 or 1 becomes 0% or 100%.

    >>> [format_percent(p) for p in (0.04764682961988097, 0.9955, 0.05, 0.9999955, 1e-9)]
    ['4.76%', '99.55%', '5%', '99.99955%', '1 in 1,000,000,000']
    >>> format_percent(1.5)
    '150%'
    """
    if p in (0, 1):
        return f"{p:.0%}"
    if p < 1e-5:
        return format_chance(p)
    if p <= 0.9 or p > 1:
        return f"{format_number(100 * p)}%"
    missing = 100 * (1 - p)
    places = max(0, 1 - math.floor(math.log10(missing) + 1e-9))
    text = f"{100 * p:.{places}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}%"


def format_percent_up(p: float) -> str:
    """Return a probability as a percentage, rounded up in its third digit so that it is an upper bound.

    >>> [format_percent_up(p) for p in (0.047646, 0.05000000000001, 0.999877, 1.0)]
    ['4.77%', '5%', '99.988%', '100%']
    """
    if not TINY <= p < 1:
        return format_percent(p)
    # ignore the rounding errors of earlier arithmetic, which would lift an exact 5% to 5.01%
    if p > 0.9:
        step = 10.0 ** (math.floor(math.log10(1 - p)) - 1)
        return format_percent(1 - math.floor((1 - p) / step + 1e-6) * step)
    step = 10.0 ** (math.floor(math.log10(p)) - 2)
    return format_percent(math.ceil(p / step - 1e-6) * step)


def format_chance(p: float) -> str:
    """Return a small probability as one case in so many, a tiny one rounded up; a larger one as a percentage.

    >>> format_chance(1e-6), format_chance(0.05), format_chance(0.0003), format_chance(5e-324)
    ('1 in 1,000,000', '5%', '1 in 3,330', '1 in 10^323')
    """
    if p == 0 or p >= 0.001:
        return format_percent(p)
    if p < TINY:
        return f"1 in 10^{math.floor(-math.log10(p) + 1e-12)}"
    digits = math.floor(math.log10(1 / p))
    return f"1 in {round(1 / p, 2 - digits):,.0f}"


def format_odds(p: float) -> str:
    """Return the odds of p, against the smaller side.

    >>> format_odds(0.01), format_odds(0.05), format_odds(0.75)
    ('1 to 99', '1 to 19', '3 to 1')
    """
    return f"1 to {format_number((1 - p) / p)}" if p < 0.5 else f"{format_number(p / (1 - p))} to 1"


class DescribablePromise(Protocol):
    """The terms of a promise that its text needs."""

    @property
    def prior(self) -> float: ...
    @property
    def posterior(self) -> float: ...
    @property
    def secret(self) -> Relation: ...
    @property
    def group(self) -> int: ...
    @property
    def tail(self) -> float: ...
    @property
    def loss(self) -> float: ...


def describe_promise(promise: DescribablePromise, people: int | None) -> str:
    """Return the text of a promise: two sentences, the odds, and what they do not cover.

    `people` is the number of people in the data, if known.
    """
    sentences = _describe_certain_promise(promise) if promise.tail == 0 else _describe_tail_promise(promise)
    limits = [
        _describe_other_secret(promise),
        _describe_attacker_limits(promise),
        _describe_group_limits(promise),
        _describe_tail_exceptions(promise, people),
    ]
    covered = [sentences, "", _describe_odds(promise), "", "What this does not cover:"]
    return "\n".join(covered + [f"- {each}" for each in [*limits, GENERAL] if each])


def _format_reachable_posterior(promise: DescribablePromise, times: int) -> str:
    """Return the posterior that the prior can reach under a multiple of the loss."""
    top = highest_posterior(promise.prior, times * promise.loss)
    return format_percent(top) if top < 0.99999 else "as good as 100%"


def _describe_claim(promise: DescribablePromise) -> str:
    one, several = CLAIMS[promise.secret]
    return one if promise.group == 1 else several.format(group=promise.group)


def _describe_certain_promise(promise: DescribablePromise) -> str:
    before, after = format_percent(promise.prior), format_percent_up(promise.posterior)
    return (
        f"Take any claim about {_describe_claim(promise)}: if an attacker believes it with a "
        "probability of at most "
        f"{before} beforehand, nothing that is ever released under this promise can make that more than "
        f"{after}. Nor can it make a claim that is believed with at least {after} seem less probable than "
        f"{before}."
    )


def _describe_tail_promise(promise: DescribablePromise) -> str:
    before, after, rarely = (
        format_percent(promise.prior),
        format_percent_up(promise.posterior),
        format_chance(promise.tail),
    )
    return (
        f"Take any claim about {_describe_claim(promise)}: if it is true, and an attacker believes it with a "
        f"probability of at most {before} beforehand, the chance that everything ever released under this "
        f"promise makes that more than {after} is at most {rarely}. If it is false, and believed with at "
        f"least {after}, the chance that it comes to seem less probable than {before} is at most {rarely}."
    )


def _describe_odds(promise: DescribablePromise) -> str:
    before, after = format_odds(promise.prior), format_odds(promise.posterior)
    factor = (
        format_number(math.exp(promise.loss)) if promise.loss < 700 else f"e^{format_number(promise.loss)}"
    )
    share = format_number(promise.loss / promise.group, 5)
    whose = "" if promise.group == 1 else " of each person"
    formula = "ln gamma" if promise.group == 1 else f"ln gamma / {promise.group}"
    alone = "" if promise.tail == 0 else ", if no use is made of the exceptions"
    return (
        f"In odds: {before} becomes {after} at most, a factor gamma of {factor}. "
        f"The budget{whose} is epsilon = {formula} = {share}{alone}."
    )


def _describe_other_secret(promise: DescribablePromise) -> str:
    if promise.secret is Relation.VALUE:
        return "Membership. It protects what a record says; it does not hide who is in the data."
    before, after = format_percent(promise.prior), _format_reachable_posterior(promise, 2)
    also = "" if promise.tail == 0 else "; the chance of an exception is larger, too"
    return (
        f"Values as well as presence. A claim about what a record says may go from {before} to {after}, "
        f"because to change a record is to remove one and to add another{also}."
    )


def _describe_attacker_limits(promise: DescribablePromise) -> str:
    change = {
        Relation.VALUE: ("the person's record been blank", "these people's records been blank"),
        Relation.PRESENCE: ("the person been left out", "these people been left out"),
    }[promise.secret][promise.group > 1]
    apart = "the two are close"
    if promise.tail == 0 and promise.loss < 300:
        factor = format_number(math.exp(2 * promise.loss))
        apart = f"the odds of any claim differ between the two by a factor of {factor} at most"
    return (
        "Every attacker. Before and after are stated for one who knows all other records, or who takes "
        "records as independent of each other. For anyone else the honest statement is with-you against "
        "without-you: what they conclude from the release, and what they would have concluded had "
        f"{change}; {apart}."
    )


def _describe_group_limits(promise: DescribablePromise) -> str:
    if promise.group > 1:
        return f"More than {promise.group} people whose records depend on each other."
    before, after = format_percent(promise.prior), _format_reachable_posterior(promise, 4)
    shown = f": for 4 people {before} may become {after}" if promise.tail == 0 else ""
    return (
        "Families. A claim that is true of several people together, or of none, can be learned from all of "
        f"them{shown}. group=4 would promise it for any 4 people together."
    )


def _describe_tail_exceptions(promise: DescribablePromise, people: int | None) -> str:
    if promise.tail == 0:
        return ""
    n = people if people is not None else math.ceil(1 / promise.tail)
    return (
        f"Everyone at once. The chance of {format_chance(promise.tail)} is for each person: among "
        f"{n:,} people, up "
        f"to {format_number(n * promise.tail)} such breaches are to be expected."
    )
