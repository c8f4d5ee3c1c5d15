"""`discreet anonymize`: publish a table that is hard to link, or judge one that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.app.commands.options import POLICY, AsJson, AtMost, Force
from discreet.app.publishing.anonymize_validation import METHODS, OBJECTIVES, require_known_names

Texts = list[str] | None


def run(
    table: Annotated[str, typer.Argument(help="A table of the policy, or a file.")],
    policy: Annotated[Path | None, typer.Option("--policy", "-p", help="The custodian's policy.")] = None,
    k: Annotated[int | None, typer.Option("-k", help="k-anonymity: at least k in every class.")] = None,
    l_diversity: Annotated[
        Texts, typer.Option(help="COLUMN:2:distinct|probabilistic|entropy, or COLUMN:3:recursive:4 (l, c).")
    ] = None,
    t_closeness: Annotated[Texts, typer.Option(help="COLUMN:0.2:equal|ordered|hierarchical.")] = None,
    delta_presence: Annotated[str | None, typer.Option(help="0.05:0.15, with --population.")] = None,
    k_map: Annotated[int | None, typer.Option(help="k of the population in every class.")] = None,
    alpha: Annotated[Texts, typer.Option(help="COLUMN:0.5: no value above this share of a class.")] = None,
    delta_disclosure: Annotated[Texts, typer.Option(help="COLUMN:1.")] = None,
    beta_likeness: Annotated[Texts, typer.Option(help="COLUMN:2.")] = None,
    m_invariance: Annotated[
        Texts, typer.Option(help="COLUMN:3: the same m values for whoever stays, with --earlier.")
    ] = None,
    chain: Annotated[
        Path | None, typer.Option("--earlier", help="The release before, with its signatures beside it.")
    ] = None,
    risk: Annotated[Texts, typer.Option(help="prosecutor:0.2, or average:journalist:0.05.")] = None,
    posterior: Annotated[
        str | None,
        typer.Option(help="What may be believed of a sensitive value at most: 20%, or 20%:recursive|equal."),
    ] = None,
    population: Annotated[str | None, typer.Option(help="A table or file of everybody.")] = None,
    sampling: Annotated[
        str | None, typer.Option(help="The part of everybody that the table is, such as 1%, for estimates.")
    ] = None,
    suppress: Annotated[str, typer.Option(help="The most that may be left out, such as 2%.")] = "0",
    objective: Annotated[str, typer.Option(help=f"{'|'.join(OBJECTIVES)}.")] = "loss",
    method: Annotated[
        str,
        typer.Option(help=f"{'|'.join(METHODS)}: how values are made coarser."),
    ] = "generalize",
    level: Annotated[
        Texts, typer.Option(help="COLUMN=2: publish at this level; 0 where a column is not named.")
    ] = None,
    centre: Annotated[
        Texts, typer.Option(help="COLUMN=mean|median: show a number for each class instead of a label.")
    ] = None,
    weight: Annotated[Texts, typer.Option(help="COLUMN=2: what it loses counts double.")] = None,
    pseudonym: Annotated[
        Texts, typer.Option(help="COLUMN: an identifier that is shown as keyed pseudonyms, with --key.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The file of the key; made if it is not there.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Of --method private.")] = None,
    delta: Annotated[float | None, typer.Option(help="Of --method private.")] = None,
    analyst: Annotated[str | None, typer.Option(help="Whose share a private release is charged to.")] = None,
    quasi: Annotated[str | None, typer.Option(help="Quasi-identifiers of a file: a,b,c.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="Sensitive columns of a file: a,b.")] = None,
    hierarchy: Annotated[Texts, typer.Option(help="COLUMN=FILE, in ARX's format.")] = None,
    unit: Annotated[str | None, typer.Option(help="row: count rows even where people have several.")] = None,
    seconds: Annotated[float | None, typer.Option(help="The most time to search; 60 if not given.")] = None,
    minimal: Annotated[bool, typer.Option("--minimal", help="List all minimal generalizations.")] = False,
    top: Annotated[
        int | None, typer.Option(help="List so many generalizations, the best first.", min=1)
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Judge the table as it is.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help=".parquet, .csv, .duckdb, FILE.duckdb#TABLE, or a table of --engine."
        ),
    ] = None,
    at_most: AtMost = None,
    others: Annotated[
        Texts, typer.Option("--with", help="Another release, which attackers have, too.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(help="Where the rows are, instead of the policy's: postgresql://…, spark:local."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Publish a table that is provably hard to link, with its certificate."""
    policy = policy or (POLICY if POLICY.is_file() else None)
    require_known_names(
        table, policy, method=method, objective=objective, hierarchies=hierarchy or (), engine=engine
    )
    from discreet.app.publishing import anonymize_command  # what it needs takes seconds to load

    anonymize_command.run_anonymize(
        anonymize_command.AnonymizeRequest(
            table=table,
            policy=policy,
            quasi=quasi,
            sensitive=sensitive,
            hierarchies=hierarchy or (),
            population=population,
            models=anonymize_command.ModelOptions(
                k=k,
                l_diversity=l_diversity or (),
                t_closeness=t_closeness or (),
                delta_presence=delta_presence,
                k_map=k_map,
                alpha=alpha or (),
                delta_disclosure=delta_disclosure or (),
                beta_likeness=beta_likeness or (),
                m_invariance=m_invariance or (),
                risk=risk or (),
            ),
            sampling=sampling,
            posterior=posterior,
            suppress=suppress,
            objective=objective,
            method=method,
            weights=weight or (),
            levels=level or (),
            centres=centre or (),
            pseudonyms=pseudonym or (),
            key=key,
            chain=chain,
            epsilon=epsilon,
            delta=delta,
            analyst=analyst,
            unit=unit,
            seconds=seconds,
            output=output,
            at_most=at_most,
            others=others or (),
            force=force,
            engine=engine,
        ),
        check=check,
        minimal=minimal,
        top=top,
        as_json=as_json,
    )
