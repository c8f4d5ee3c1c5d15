"""`discreet anonymize`: publish a generalized table that is hard to link, or check an existing one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.shared_options import DEFAULT_POLICY, ForceOption, JsonOption, MaxBeliefOption
from discreet.services.anonymize.anonymize_validation import METHODS, OBJECTIVES, require_known_names

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
        Texts,
        typer.Option(help="COLUMN:3: the same m values in every release for each person, with --earlier."),
    ] = None,
    chain: Annotated[
        Path | None,
        typer.Option("--earlier", help="The previous release, with its signatures file beside it."),
    ] = None,
    risk: Annotated[Texts, typer.Option(help="prosecutor:0.2, or average:journalist:0.05.")] = None,
    posterior: Annotated[
        str | None,
        typer.Option(help="The highest belief in a sensitive value: 20%, or 20%:recursive|equal."),
    ] = None,
    population: Annotated[str | None, typer.Option(help="A table or file of everybody.")] = None,
    sampling: Annotated[
        str | None,
        typer.Option(
            help="The share of the population that the table holds, such as 1%, for risk estimates."
        ),
    ] = None,
    suppress: Annotated[
        str, typer.Option(help="The largest share of records to suppress, such as 2%.")
    ] = "0",
    objective: Annotated[str, typer.Option(help=f"{'|'.join(OBJECTIVES)}.")] = "loss",
    method: Annotated[
        str,
        typer.Option(help=f"{'|'.join(METHODS)}: how values are made coarser."),
    ] = "generalize",
    level: Annotated[
        Texts, typer.Option(help="COLUMN=2: publish at this level; columns that are not named are at 0.")
    ] = None,
    centre: Annotated[
        Texts, typer.Option(help="COLUMN=mean|median: show a number for each class instead of a label.")
    ] = None,
    weight: Annotated[
        Texts, typer.Option(help="COLUMN=2: information that this column loses counts double.")
    ] = None,
    pseudonym: Annotated[
        Texts, typer.Option(help="COLUMN: replace an identifier by keyed pseudonyms, with --key.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The key file; created if it does not exist.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Of --method private.")] = None,
    delta: Annotated[float | None, typer.Option(help="Of --method private.")] = None,
    analyst: Annotated[
        str | None, typer.Option(help="The analyst whose share a private release is charged to.")
    ] = None,
    quasi: Annotated[str | None, typer.Option(help="Quasi-identifiers of a file: a,b,c.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="Sensitive columns of a file: a,b.")] = None,
    hierarchy: Annotated[Texts, typer.Option(help="COLUMN=FILE, in ARX's format.")] = None,
    unit: Annotated[str | None, typer.Option(help="row: count rows, even if a person has several.")] = None,
    seconds: Annotated[float | None, typer.Option(help="The most time to search; 60 if not given.")] = None,
    minimal: Annotated[bool, typer.Option("--minimal", help="List all minimal generalizations.")] = False,
    top: Annotated[
        int | None, typer.Option(help="List this many generalizations, the best first.", min=1)
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check the table as it is; publish nothing.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help=".parquet, .csv, .duckdb, FILE.duckdb#TABLE, or a table of --engine."
        ),
    ] = None,
    at_most: MaxBeliefOption = None,
    others: Annotated[Texts, typer.Option("--with", help="Another release that attackers also have.")] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="The engine that holds the rows, instead of the policy's: postgresql://…, spark:local."
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Publish a generalized table that is provably hard to link, with its certificate."""
    policy = policy or (DEFAULT_POLICY if DEFAULT_POLICY.is_file() else None)
    require_known_names(
        table, policy, method=method, objective=objective, hierarchies=hierarchy or (), engine=engine
    )
    from discreet.cli import anonymize_command  # deferred: its imports take seconds

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
