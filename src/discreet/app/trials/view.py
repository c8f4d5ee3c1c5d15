"""An attack evaluation on the terminal, and as JSON."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.anonymity.risk.reidentification_risk import AttackerRisks
from discreet.app.trials.trial import Trial, Tried
from discreet.app.trials.verdicts import learned, legend, on_release, scored, verdict
from discreet.attacks.attack import Finding
from discreet.attacks.criteria import Criteria, Criterion
from discreet.belief.wording import format_percent

LONGEST = 40
TONES = {"good": "green", "bad": "red", "": ""}


def as_object(trial: Trial) -> dict[str, object]:
    """Return an evaluation as a JSON object."""
    return {
        "subject": trial.subject,
        "sha256": trial.sha256,
        "knowledge": trial.knowledge,
        "attacks": [_attack(tried) for tried in trial.tried],
        "not_run": [{"name": each.name, "why": each.why} for each in trial.skipped],
        "criteria": None if trial.criteria is None else _criteria(trial.criteria),
        "bounds_held": not trial.broken,
        "promise": None if trial.promise is None else _promise(trial),
        "assumed": [*trial.assumed, *trial.remarks],
        "unread": list(trial.unread),
    }


def _attack(tried: Tried) -> dict[str, object]:
    found = tried.findings
    return {
        "name": found.attack,
        "column": tried.run.column,
        "success": found.success,
        "baseline": found.baseline,
        "interval": list(found.interval),
        "attempts": found.attempts,
        "highest": found.highest,
        "victims": [_victim(each) for each in found.victims],
        "figures": {name: _finite(value) for name, value in found.figures.items()},
        "series": {name: [list(point) for point in points] for name, points in found.series.items()},
        "bounds": [each.as_object() | {"held": each.holds(found)} for each in tried.bounds],
        "knows": found.knows,
        "learns": found.learns,
        "stopped_by": found.stopped_by,
        "note": found.note,
    }


def _victim(found: Finding) -> dict[str, object]:
    return {
        "victim": found.victim,
        "claim": found.claim,
        "prior": found.prior,
        "posterior": found.posterior,
        "truth": found.truth,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _criteria(found: Criteria) -> dict[str, object]:
    def one(each: Criterion) -> dict[str, object]:
        learned = {} if each.learned is None else {"learned": each.learned}
        return {"share": each.share, "baseline": each.baseline, "sentence": each.sentence, **learned}

    return {
        "singling_out": one(found.singling_out),
        "linkability": one(found.linkability),
        "inference": {each.name.removeprefix("inference of "): one(each) for each in found.inference},
        "risk": None if found.risks is None else _risk(found.risks),
    }


def _risk(risks: AttackerRisks) -> dict[str, float]:
    return {
        "prosecutor_highest": risks.prosecutor.highest,
        "journalist_highest": risks.journalist.highest,
        "marketer": risks.marketer,
    }


def _promise(trial: Trial) -> dict[str, object]:
    promise = trial.promise
    assert promise is not None
    kept = all(tried.keeps(promise) for tried in trial.tried)
    return {"prior": promise.prior, "posterior": promise.posterior, "gamma": promise.gamma, "held": kept}


def show(console: Console, trial: Trial) -> None:
    """Print verdict, attacks, criteria and skipped attacks."""
    for sentence in (f"Attackers know {trial.knowledge}.", *trial.remarks):
        console.print(sentence, highlight=False, markup=False)
    console.print()
    show_attacks(console, trial)
    console.print()
    for text, tone in verdict(trial):
        console.print(text, style=TONES[tone], highlight=False, markup=False)
    if trial.criteria is not None:
        console.print()
        console.print(_criteria_table(trial.criteria))
    if trial.skipped:
        console.print("\nnot run", style="bold")
        for why, those in trial.reasons.items():
            which = f"on {those[0].on}" if those[0].on else ", ".join(each.name for each in those)
            console.print(f"{which}: {why}", style="dim", highlight=False, markup=False)


def show_attacks(console: Console, trial: Trial) -> None:
    """Print each attack's findings, and the legend."""
    console.print(_attacks_table(trial))
    for line in legend(trial):
        console.print(line, style="dim", highlight=False, markup=False)


def _attacks_table(trial: Trial) -> Table:
    """Return a table with one line per attack: success, guessing, and the strongest claim."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("attack")
    for heading in ("right", "guessing"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("the most that is learned of one person")
    bounded = any(tried.bounds for tried in trial.tried)
    if bounded:
        table.add_column("bound", no_wrap=True)
    for tried in on_release(trial):
        score = scored(tried)
        right = "\n".join(filter(None, (score.right, score.beside)))
        cells = (right, score.guessing, learned(tried, longest=LONGEST))
        table.add_row(tried.name, *cells, *([_bound(tried)] if bounded else []))
    return table


def _bound(tried: Tried) -> Text:
    cap = tried.broken[0] if tried.broken else tried.cap
    if cap is None:
        return Text()
    return Text(f"{cap.said}: broken", "red") if tried.broken else Text(cap.said, "green")


def _criteria_table(found: Criteria) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("European criteria")
    table.add_column("of people", justify="right")
    table.add_column("by chance", justify="right")
    for each in (found.singling_out, found.linkability, *found.inference):
        table.add_row(each.name, format_percent(each.share), format_percent(each.baseline))
    risks = found.risks
    if risks is None:
        return table
    table.add_row("")
    table.add_row("prosecutor, highest", format_percent(risks.prosecutor.highest), "")
    table.add_row("journalist, highest", format_percent(risks.journalist.highest), "")
    table.add_row("marketer, on average", format_percent(risks.marketer), "")
    return table
