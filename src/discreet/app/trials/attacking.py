"""What `discreet attack` does: find what is attacked, run what fits, say and file what was found."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console

from discreet.app.books import looked_into
from discreet.app.commands.progress import spinner
from discreet.app.documents import Section, keep
from discreet.app.policies import load, promise_of
from discreet.app.trials import view as attack_view
from discreet.app.trials.attacked import attacked
from discreet.app.trials.bounds import Bound
from discreet.app.trials.curator_attacks import ON_ANSWERS, PEOPLE, Asking, attack_curator
from discreet.app.trials.deployment import deployment
from discreet.app.trials.knowledge import sources, staged
from discreet.app.trials.release_trial import stated
from discreet.app.trials.request import Request
from discreet.app.trials.table_attacks import attack_table
from discreet.app.trials.trial import NOTICE, Trial, judged
from discreet.app.trials.victims import table_to_attack, target
from discreet.attacks import FloatingPoint
from discreet.attacks.criteria import criteria
from discreet.belief import Promise
from discreet.belief.odds import highest
from discreet.belief.wording import percent
from discreet.core.errors import RequestError, UnmetError
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.relations import Relation
from discreet.engines.duckdb import DuckDB
from discreet.engines.publishing import DuckDBPublisher
from discreet.engines.store import prepare

__all__ = ["Request", "run", "tried"]

POLICIES = (".yaml", ".yml")
ROUNDING = 1 + 1e-9
EVEN = 0.5
MEMORY = ":memory:"

Tell = Callable[[str], None]


def run(request: Request, *, report: Path | None, as_json: bool) -> None:
    """Attack, then file the report, print, and end with code 4 where a bound is broken."""
    if report is not None:
        _require_report(report)
    with spinner() as tell:
        trial, policy = tried(request, tell)
        if report is not None:
            tell("writing the report")
            _file(trial, policy, report)
    if as_json:
        files = {} if report is None else {"report": str(report)}
        print(json.dumps(attack_view.as_object(trial) | files))
    else:
        attack_view.show(Console(), trial)
        if report is not None:
            Console().print(f"\nwrote {report}", highlight=False, markup=False)
    if trial.broken:
        raise typer.Exit(UnmetError.exit_code)


def tried(request: Request, tell: Tell) -> tuple[Trial, Policy | None]:
    """What is found of the answers under a policy, or of a published table."""
    asked = Path(request.release).suffix.lower() in POLICIES
    return _answers(request, tell) if asked else _table(request, tell)


def _table(request: Request, tell: Tell) -> tuple[Trial, Policy | None]:
    about = attacked(request)
    tables, frames = sources(request, about)
    tell("matching people and rows")
    with DuckDBPublisher(tables, frames) as engine:
        stage = staged(engine, request, about)
        tell("attacking")
        runs, skipped = attack_table(stage.scene)
        found = criteria(stage.scene.sets, stage.scene.columns)
    cap = request.cap
    bounds = (*about.bounds, *(stated(*cap) if cap is not None else ()))
    policy = about.policy
    trial = Trial(
        subject=about.path.name,
        knowledge=stage.knowledge,
        tried=judged(runs, bounds),
        skipped=skipped,
        criteria=found,
        promise=None if policy is None or policy.promise is None else promise_of(policy),
        assumed=(*stage.assumed, *about.remarks),
        unread=stage.unread,
        sha256=about.sha256,
    )
    return trial, policy


def _answers(request: Request, tell: Tell) -> tuple[Trial, Policy]:
    """Access to a curator: its policy is what was named."""
    policy = load(Path(request.release))
    promise = promise_of(policy)
    _refuse_table_options(request)
    name = table_to_attack(policy, request.table)
    with DuckDBPublisher({name: policy.tables[name]}) as publisher:
        tell("choosing victims")
        aim = target(
            publisher,
            name,
            policy.tables[name],
            claim=request.claim,
            victim=request.victim_values,
            number=request.victims,
        )
    scratch = policy.model_copy(update={"ledger": MEMORY, "store": MEMORY, "analysts": {}})
    with DuckDB.open(prepare(scratch, None, progress=tell)) as engine:
        asking = Asking(policy=scratch, promise=promise, engine=engine, target=aim, random=Randomness())
        runs, skipped = attack_curator(asking, tell)
    cap = request.cap
    bounds = (*_promised(promise), *(stated(*cap) if cap is not None else ()))
    trial = Trial(
        subject=f"the answers about {name} under {Path(request.release).name}",
        knowledge=f"what only one person of {name} is, and the mechanism; the claim is {aim.claim}",
        tried=judged(runs, bounds),
        skipped=skipped,
        promise=None,
        assumed=(
            f"{len(aim.victims)} people were attacked one by one, each with the whole budget of the promise, "
            "as if nothing had been asked before. Nothing was charged: the ledger was one in memory.",
            f"Attackers believe the claim with {percent(promise.prior)} beforehand, as the promise has it.",
            f"Reconstruction is tried on {min(PEOPLE, len(aim.victims))} of them.",
        ),
    )
    return trial, policy


def _promised(promise: Promise) -> list[Bound]:
    """What the promise allows for the prior that each attack begins with."""
    # a claim about a value, under a promise about presence, may move by twice the loss
    loss = promise.loss * (2 if promise.secret is Relation.PRESENCE else 1)
    by = f"the promise {percent(promise.prior)} → {percent(promise.posterior)}"
    return [
        Bound(attack=attack.name, most=min(1.0, highest(prior, loss) * ROUNDING), by=by)
        for attack in ON_ANSWERS
        for prior in [EVEN if attack is FloatingPoint else promise.prior]
    ]


def _refuse_table_options(request: Request) -> None:
    given = {
        "--knows": request.knows,
        "--with": request.earlier,
        "--quasi": request.quasi,
        "--sensitive": request.sensitive,
        "--hierarchy": request.hierarchies,
        "--rules-out": request.rules_out,
        "--base-rate": request.base_rates,
    }
    named = [option for option, value in given.items() if value]
    if named:
        raise RequestError(
            f"attack: {named[0]} goes with a published table; answers are attacked by asking.",
            hint="Name the table's file, or leave it out.",
        )


def _file(trial: Trial, policy: Policy | None, path: Path) -> None:
    day = datetime.now(UTC).date().isoformat()
    if path.suffix.lower() == ".json":
        return _write(
            json.dumps({"notice": NOTICE, "date": day} | attack_view.as_object(trial), indent=2) + "\n", path
        )
    from discreet.app.trials.report import document  # charts take a second to load

    more: list[Section] = []
    if policy is not None and policy.promise is not None:
        with looked_into(policy) as ledger:
            more.append(deployment(policy, ledger))
    made = document(trial, *more, day=day)
    return _write(made.as_html() if path.suffix.lower() == ".html" else made.as_markdown(), path)


def _write(text: str, path: Path) -> None:
    try:
        keep(text, path)
    except OSError as error:
        reason = error.strerror or "the system refuses"
        raise RequestError(f"{path} cannot be written: {reason}.", hint="Name another file.") from None


def _require_report(path: Path) -> None:
    """Refuse a report whose ending says nothing of how to write it, or whose folder is not there."""
    if path.suffix.lower() not in (".html", ".md", ".json"):
        raise RequestError(
            f"A report is an .html, .md or .json file; got {path.name}.", hint="Name such a file."
        )
    if not path.absolute().parent.is_dir():
        raise RequestError(f"There is no folder {path.parent}.", hint="Make it, or name another file.")
