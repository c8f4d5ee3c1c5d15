"""The report of an attack evaluation, as a privacy officer files it.

Everything in it is computed from real data, as its first line states.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.anonymity.risk.reidentification_risk import THRESHOLD, AttackerRisks
from discreet.app.documents import Document, Grid, Paragraph, Part, Section
from discreet.app.trials.bounds import Bound
from discreet.app.trials.charts import pictures
from discreet.app.trials.trial import NOTICE, Trial, Tried
from discreet.app.trials.verdicts import learned, legend, on_release, scored, verdict
from discreet.attacks.attack import Finding
from discreet.attacks.criteria import Criteria
from discreet.belief.wording import format_number, format_percent

MOST_VICTIMS = 8
CAUTION = (
    "An attack that finds nothing proves nothing about attackers who know more than it was given. What a "
    "promise of differential privacy bounds is bounded for all of them."
)


def document(trial: Trial, *more: Section, day: str) -> Document:
    """Return the whole report of an evaluation; `more` sections precede the assumptions."""
    return Document(
        title=f"What attackers find out from {trial.subject}",
        notice=NOTICE,
        sections=(*sections(trial), *more, assumptions(trial), _subject(trial, day)),
    )


def sections(trial: Trial, *, risks: bool = True) -> tuple[Section, ...]:
    """Return verdict, criteria, attacks and skipped attacks; `risks` unless the report has them elsewhere."""
    found = [_verdict(trial)]
    if trial.criteria is not None:
        found.append(_criteria(trial.criteria))
        if risks and trial.criteria.risks is not None:
            found.append(_risks(trial.criteria.risks))
    found += [_attack(tried, trial) for tried in trial.tried]
    return (*found, *_skipped(trial))


def _subject(trial: Trial, day: str) -> Section:
    rows = [("attacked", trial.subject), ("on", f"{day} (UTC)")]
    if trial.sha256 is not None:
        rows.append(("SHA-256", trial.sha256))
    return Section(title="What was attacked, and when", parts=(Grid(head=("", ""), rows=tuple(rows)),))


def assumptions(trial: Trial) -> Section:
    """Return the section on the attacker's knowledge and the assumptions."""
    lines = (f"Attackers know {trial.knowledge}.", *trial.assumed, CAUTION)
    return Section(title="What was assumed", parts=tuple(Paragraph(text=line) for line in lines))


def _verdict(trial: Trial) -> Section:
    rows = tuple(
        (
            tried.name,
            f"{(score := scored(tried)).right} {_bracketed(score.beside)}".rstrip(),
            score.guessing,
            learned(tried),
            "; ".join(f"{bound.said}: {_verb(bound, tried)}" for bound in tried.bounds) or "–",
        )
        for tried in on_release(trial)
    )
    head = ("attack", "right", "guessing", "the most that is learned of one person", "bound")
    return Section(
        title="What could someone find out about one person?",
        parts=(
            *(Paragraph(text=text) for text in trial.remarks),
            *(Paragraph(text=text, tone=tone) for text, tone in verdict(trial)),
            Grid(head=head, rows=rows, numbers=(1, 2)),
            *(Paragraph(text=line) for line in legend(trial)),
        ),
    )


def _bracketed(beside: str) -> str:
    return beside if not beside or beside.startswith("of ") else f"({beside})"


def _kept(bound: Bound, tried: Tried) -> str:
    return f"{bound.said} by {bound.by}: {_verb(bound, tried)}"


def _verb(bound: Bound, tried: Tried) -> str:
    return "held" if bound.holds(tried.findings) else "BROKEN"


def _criteria(found: Criteria) -> Section:
    three = (found.singling_out, found.linkability, *found.inference)
    rows = tuple(
        (each.name, format_percent(each.share), format_percent(each.baseline), each.sentence)
        for each in three
    )
    return Section(
        title="The three criteria of the European guidance",
        parts=(Grid(head=("criterion", "of people", "by chance", ""), rows=rows, numbers=(1, 2)),),
    )


def _risks(risks: AttackerRisks) -> Section:
    high = format_percent(float(THRESHOLD))
    rows = (
        (
            "prosecutor",
            "knows that a person is in the release",
            format_percent(risks.prosecutor.highest),
            format_percent(risks.prosecutor.success),
            format_percent(risks.prosecutor.at_risk),
        ),
        (
            "journalist",
            "knows the population that it was drawn from",
            format_percent(risks.journalist.highest),
            format_percent(risks.journalist.success),
            format_percent(risks.journalist.at_risk),
        ),
        ("marketer", "links everybody, and wants many links", "–", format_percent(risks.marketer), "–"),
    )
    head = ("attacker", "who", "highest risk", "on average", f"people above {high}")
    return Section(
        title="Risk of being matched to a row", parts=(Grid(head=head, rows=rows, numbers=(2, 3, 4)),)
    )


def _attack(tried: Tried, trial: Trial) -> Section:
    findings = tried.findings
    parts: list[Part] = [
        Grid(head=("", ""), rows=tuple(_facts(tried))),
        *pictures(tried),
    ]
    if findings.victims:
        parts.append(_victims(findings.victims))
    return Section(title=f"{tried.name[:1].upper()}{tried.name[1:]}", parts=tuple(parts))


def _facts(tried: Tried) -> Iterator[tuple[str, str]]:
    findings = tried.findings
    yield "knows", findings.knows
    yield "learns", findings.learns
    low, high = findings.interval
    sure = (
        ""
        if low == high
        else f" (between {format_percent(low)} and {format_percent(high)} with 95% confidence)"
    )
    yield "right", f"{format_percent(findings.success)} of {findings.attempts:,}{sure}"
    yield "guessing", format_percent(findings.baseline)
    if findings.figures:
        yield "figures", "; ".join(f"{name} {figure(name, each)}" for name, each in findings.figures.items())
    if tried.bounds:
        yield "bound", "; ".join(_kept(bound, tried) for bound in tried.bounds)
    yield "stopped\u00a0by", findings.stopped_by
    if findings.note:
        yield "note", findings.note


SHARES = (
    "claimed",
    "precision",
    "recall",
    "posterior",
    "matched",
    "unique",
    "confident",
    "certain",
    "guess",
    "right",
    "panel",
    "strangers",
    "power",
    "false positives",
    "allows",
)


def figure(name: str, value: float) -> str:
    """Return an attack's own figure as text: a percentage if its name marks it as a share."""
    shared = any(word in name for word in SHARES) or name.startswith(("in crowds", "fine outputs"))
    return format_percent(value) if shared and 0 <= value <= 1 else format_number(value)


def _victims(victims: tuple[Finding, ...]) -> Grid:
    truths = {True: "true", False: "false", None: "–"}
    rows = tuple(
        (
            each.victim,
            each.claim,
            format_percent(each.prior),
            format_percent(each.posterior),
            truths[each.truth],
        )
        for each in victims[:MOST_VICTIMS]
    )
    head = ("of whom", "what is claimed", "before", "after", "it is")
    return Grid(head=head, rows=rows, caption="Of whom the most was learned", numbers=(2, 3))


def _skipped(trial: Trial) -> Iterator[Section]:
    if trial.skipped:
        rows = tuple(
            (", ".join(each.name for each in those), f"on {those[0].on}: {why}" if those[0].on else why)
            for why, those in trial.reasons.items()
        )
        yield Section(title="What was not run", parts=(Grid(head=("attacks", "why"), rows=rows),))
