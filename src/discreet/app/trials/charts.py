"""Pictures of what attacks found: beliefs before and after with the cap as a line, and curves."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.app.colours import BLUE, OTHERS, SUSPECTED
from discreet.app.documents import Picture
from discreet.app.drawings import Bar, BarRow, bars, steps
from discreet.app.trials.trial import Tried
from discreet.attacks.attack import Finding, Findings, Points
from discreet.belief.wording import percent

SHOWN, LONGEST = 8, 46


def pictures(tried: Tried) -> list[Picture]:
    """Charts of one attack: beliefs where there are victims, its curves; else how often it is right."""
    findings = tried.findings
    found = []
    learned = [each for each in findings.victims if each.posterior != each.prior]
    if learned:
        found.append(_beliefs(learned[:SHOWN], tried))
    found += [_curve(name, points) for name, points in findings.series.items() if len(points) > 1]
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
        caption += f"; the line is the cap of {percent(line.most)} ({line.by})"
    return Picture(svg=drawn, caption=f"{caption}.")


def _bar(share: float, colour: str) -> Bar:
    return Bar(share=share, colour=colour, said=percent(share))


def _curve(name: str, points: Points) -> Picture:
    """A series is called by what it has over what: share of people by match set."""
    over, _, size_of = name.partition(" by ")
    drawn = steps([(BLUE, points)], over=f"{size_of or 'number'} of at most", title=over, height=180)
    said = ", ".join(f"{percent(share)} up to {size:g}" for size, share in points[:3])
    return Picture(svg=drawn, caption=f"{name[:1].upper()}{name[1:]}: {said} …")


def _success(findings: Findings) -> Picture:
    guessing, success = percent(findings.baseline), percent(findings.success)
    attack = Bar(share=findings.success, colour=SUSPECTED, said=success, reach=findings.interval)
    rows = [
        BarRow(name="guessing", bars=(_bar(findings.baseline, OTHERS),)),
        BarRow(name="the attack", bars=(attack,)),
    ]
    caption = f"How often it is right: {success}, guessing {guessing}."
    return Picture(svg=bars(rows, title="right", thick=18), caption=caption)
