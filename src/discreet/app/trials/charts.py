"""Charts of attack findings: beliefs before and after with the bound as a line, and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.app.colours import BLUE, OTHERS, SUSPECTED
from discreet.app.documents import Picture
from discreet.app.drawings import Bar, BarRow, bars, steps
from discreet.app.trials.trial import Tried
from discreet.attacks.attack import Finding, Findings, Points
from discreet.belief.wording import format_percent

SHOWN, LONGEST = 8, 46


def pictures(tried: Tried) -> list[Picture]:
    """Return the charts of one attack: beliefs of victims and its curves, or else its success rate."""
    findings = tried.findings
    found = []
    learned = [each for each in findings.victims if each.posterior != each.prior]
    if learned:
        found.append(_beliefs(learned[:SHOWN], tried))
    found += _curves(findings.series)
    return found or [_success(findings)]


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _beliefs(victims: Sequence[Finding], tried: Tried) -> Picture:
    claims, cap = {each.claim for each in victims}, tried.cap
    said = [each.victim if len(claims) == 1 else f"{each.victim}: {each.claim}" for each in victims]
    labels = [f"{place + 1}. {_shortened(text)}" for place, text in enumerate(said)]
    rows = [
        BarRow(name=label, bars=(_bar(each.prior, OTHERS), _bar(each.posterior, SUSPECTED)))
        for label, each in zip(labels, victims, strict=True)
    ]
    line = cap if cap is not None and cap.most < 1 else None
    highest = max(each for victim in victims for each in (victim.prior, victim.posterior))
    drawn = bars(
        rows,
        title=f"belief that {_shortened(*claims)}" if len(claims) == 1 else "belief in the claim",
        thick=11,
        end=min(1.0, 1.25 * max(highest, 0.0 if cap is None else cap.most)),
        cap=None if line is None else line.most,
        legend={"before": OTHERS, "after": SUSPECTED},
    )
    caption = "Belief before the release (grey) and after it (orange)"
    if line is not None:
        caption += f"; the line is the cap of {format_percent(line.most)} ({line.by})"
    return Picture(svg=drawn, caption=f"{caption}.")


def _bar(share: float, colour: str) -> Bar:
    return Bar(share=share, colour=colour, said=format_percent(share))


@dataclass(frozen=True, kw_only=True)
class Over:
    """The axis of a curve: its title, and how it is drawn."""

    title: str
    steps: bool = False
    share: bool = False

    def said(self, at: float) -> str:
        """Return a position on the axis as text."""
        return format_percent(at) if self.share else f"{at:,.3g}" if at < 1000 else f"{at:,.0f}"


OVER = {
    "match set": Over(title="rows that may be the person's, at most", steps=True),
    "crowd": Over(title="people with the same values, at most", steps=True),
    "threshold": Over(title="eccentricity that the best record must pass"),
    "SNPs": Over(title="SNPs that are published"),
    "nearness": Over(title="share of people, those with the nearest rows first", share=True),
}


def _curves(series: Mapping[str, Points]) -> list[Picture]:
    """Return a chart for each quantity x in series named "y by x", as "share of people by match set"."""
    found: dict[str, dict[str, Points]] = {}
    for name, points in series.items():
        what, _, over = name.partition(" by ")
        if len(points) > 1:
            found.setdefault(over, {})[what] = points
    return [_curve(OVER[over], curves) for over, curves in found.items()]


def _curve(over: Over, curves: Mapping[str, Points]) -> Picture:
    said = "; ".join(f"{what} {_told(over, points)}" for what, points in curves.items())
    return Picture(svg=_drawn(over, curves), caption=f"{said[:1].upper()}{said[1:]}.")


def _drawn(over: Over, curves: Mapping[str, Points]) -> str:
    if over.steps and len(curves) == 1:
        ((what, points),) = curves.items()
        return steps([(BLUE, points)], over=over.title, title=what, height=180)
    from discreet.app.trials.lines import lines  # what it draws with takes a second to load

    return lines(curves, over=over.title, share=over.share)


def _told(over: Over, points: Points) -> str:
    """Return the ends and the middle of a curve as text."""
    chosen = sorted({0, len(points) // 2, len(points) - 1})
    return ", ".join(f"{format_percent(points[i][1])} at {over.said(points[i][0])}" for i in chosen)


def _success(findings: Findings) -> Picture:
    guessing, success = format_percent(findings.baseline), format_percent(findings.success)
    attack = Bar(share=findings.success, colour=SUSPECTED, said=success, reach=findings.interval)
    rows = [
        BarRow(name="guessing", bars=(_bar(findings.baseline, OTHERS),)),
        BarRow(name="the attack", bars=(attack,)),
    ]
    caption = f"How often it is right: {success}, guessing {guessing}."
    return Picture(svg=bars(rows, title="right", thick=18), caption=caption)
