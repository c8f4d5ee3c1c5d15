"""`discreet attack`: run attacks on a release or on answers, and report what they learn about one person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption
from discreet.core.errors import ModelNotMetError
from discreet.rendering import attack_view
from discreet.rendering.attack_report import require_report_path, write_attack_report
from discreet.rendering.terminal import Console
from discreet.services.addresses import SERVER_EXAMPLES
from discreet.services.attack.attack_dispatch import AttackRequest, attack_release

Texts = list[str] | None
TABLE = "A published table"
ANSWERS = "Answers, for a policy.yaml"
RATINGS = "Ratings, with --title"
FREQUENCIES = "Allele frequencies, with --genomes and --reference"
SYNTHETIC = "A synthetic table, with --panel"


def run(
    release: Annotated[
        str,
        typer.Argument(
            help="A published .parquet, .csv or .duckdb file (FILE.duckdb#TABLE), or a table of --engine; or "
            "a policy.yaml, whose answers are attacked."
        ),
    ],
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", metavar="FILE", help="The custodian's policy.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="The table of the policy to attack.")
    ] = None,
    victim: Annotated[
        str | None,
        typer.Option(metavar="VALUES", help='A person in the register, "name=Joe"; or "age=28,zip=13068".'),
    ] = None,
    at_most: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="The highest belief that any attack may reach, 30%; above it, exit code 4."
        ),
    ] = None,
    posterior: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Another name for --at-most, as in anonymize.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report: .html, .md or .json.")
    ] = None,
    as_json: JsonOption = False,
    knows: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A register, such as a voter list; without it, attackers know everybody. For ratings: what "
            "attackers know.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=f"The engine that holds tables, instead of the policy's: {SERVER_EXAMPLES}.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    quasi: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Quasi-identifiers: columns that attackers may know.", rich_help_panel=TABLE
        ),
    ] = None,
    sensitive: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Columns that attackers want to learn; also for a synthetic table.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    hierarchy: Annotated[
        Texts,
        typer.Option(
            metavar="COLUMN=FILE",
            help="The hierarchy of a column's labels, in ARX's format.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column that identifies a person's rows; also for ratings.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    column: Annotated[
        Texts,
        typer.Option(
            metavar="RELEASE=REGISTER",
            help="The register's name of a column of the release; also for ratings.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    earlier: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="An earlier release about the same people.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    earlier_column: Annotated[
        Texts,
        typer.Option(
            metavar="RELEASE=REGISTER", help="As --column, for that release.", rich_help_panel=TABLE
        ),
    ] = None,
    rules_out: Annotated[
        Texts,
        typer.Option(
            metavar="FACT",
            help='A value that is impossible for a group: "Heart Disease if nationality=Japanese".',
            rich_help_panel=TABLE,
        ),
    ] = None,
    base_rate: Annotated[
        Texts,
        typer.Option(
            metavar="FACT",
            help='A value\'s rate relative to others: "Heart Disease:0.1 if nationality=Japanese".',
            rich_help_panel=TABLE,
        ),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(metavar="SQL", help="The claim to test: \"disease = 'flu'\".", rich_help_panel=ANSWERS),
    ] = None,
    victims: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            metavar="N",
            help="How many people to attack; 20 by default.",
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="The item that was rated, bought or visited.", rich_help_panel=RATINGS
        ),
    ] = None,
    rating: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The rating.", rich_help_panel=RATINGS)
    ] = None,
    date: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The date of the rating.", rich_help_panel=RATINGS)
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="How many days dates in --knows may be off; 14 by default.",
            rich_help_panel=RATINGS,
        ),
    ] = None,
    stars: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="How far ratings in --knows may be off; 0 by default.", rich_help_panel=RATINGS
        ),
    ] = None,
    wrong: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="The share of --knows that may be wrong; 25% by default.",
            rich_help_panel=RATINGS,
        ),
    ] = None,
    genomes: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The participants' genomes, one column each.", rich_help_panel=FREQUENCIES
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Allele frequencies of the general population.", rich_help_panel=FREQUENCIES
        ),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The number of participants.", rich_help_panel=FREQUENCIES),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="The epsilon of the noise in the frequencies.", rich_help_panel=FREQUENCIES
        ),
    ] = None,
    panel: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="People who are not in the data; also for a study.",
            rich_help_panel=SYNTHETIC,
        ),
    ] = None,
    original: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The original table.", rich_help_panel=SYNTHETIC),
    ] = None,
) -> None:
    """Run every attack that applies; exit code 4 if one exceeds a bound that was set.

    For the custodian only: attacks are evaluated on real data. Nothing is charged and nothing is published.
    """
    if report is not None:
        require_report_path(report)
    request = AttackRequest.parse(
        {
            "release": release,
            "policy": policy or (DEFAULT_POLICY if DEFAULT_POLICY.is_file() else None),
            "table": table,
            "knows": knows,
            "victim": victim,
            "earlier": earlier,
            "quasi": quasi,
            "sensitive": sensitive,
            "hierarchies": hierarchy or (),
            "columns": column or (),
            "earlier_columns": earlier_column or (),
            "rules_out": rules_out or (),
            "base_rates": base_rate or (),
            "at_most": at_most,
            "posterior": posterior,
            "person": person,
            "claim": claim,
            "victims": victims,
            "title": title,
            "rating": rating,
            "date": date,
            "days": days,
            "stars": stars,
            "wrong": wrong,
            "genomes": genomes,
            "reference": reference,
            "people": people,
            "epsilon": epsilon,
            "original": original,
            "panel": panel,
            "engine": engine,
        }
    )
    with show_progress() as report_progress:
        evaluation = attack_release(request, report_progress)
        if report is not None:
            report_progress("writing the report")
            write_attack_report(evaluation, report)
    if as_json:
        files = {} if report is None else {"report": str(report)}
        print(json.dumps(attack_view.evaluation_to_json(evaluation) | files))
    else:
        attack_view.print_evaluation(Console(), evaluation)
        if report is not None:
            Console().print(f"\nwrote {report}", highlight=False, markup=False)
    if evaluation.broken_bounds:
        raise typer.Exit(ModelNotMetError.exit_code)
