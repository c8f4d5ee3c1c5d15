"""`discreet attack`: what someone could find out about one person, from a release or from answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.app.commands.options import POLICY, AsJson

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
        str | None, typer.Option(metavar="TABLE", help="The policy's table that is attacked.")
    ] = None,
    victim: Annotated[
        str | None,
        typer.Option(metavar="VALUES", help='Someone of the register, "name=Joe"; or "age=28,zip=13068".'),
    ] = None,
    at_most: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="What any attack may come to believe, 30%; else exit code 4."),
    ] = None,
    posterior: Annotated[
        str | None, typer.Option(metavar="SHARE", help="The same, as anonymize calls it.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to file it: .html, .md or .json.")
    ] = None,
    as_json: AsJson = False,
    knows: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A register, such as a voter list; else everybody is known. Of ratings: what is known of "
            "whom.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Where tables are, instead of the policy's: postgresql://…, spark:local.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    quasi: Annotated[
        str | None, typer.Option(metavar="A,B", help="What attackers may know.", rich_help_panel=TABLE)
    ] = None,
    sensitive: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="What they want to know; of a synthetic table, too.", rich_help_panel=TABLE
        ),
    ] = None,
    hierarchy: Annotated[
        Texts,
        typer.Option(metavar="COLUMN=FILE", help="What labels mean, in ARX's format.", rich_help_panel=TABLE),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Which rows are one person's; of ratings, too.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    column: Annotated[
        Texts,
        typer.Option(
            metavar="RELEASE=REGISTER",
            help="How the register calls a column of the release; of ratings, too.",
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
        typer.Option(metavar="RELEASE=REGISTER", help="As --column, of that release.", rich_help_panel=TABLE),
    ] = None,
    rules_out: Annotated[
        Texts,
        typer.Option(
            metavar="FACT",
            help='Who does not have what: "Heart Disease if nationality=Japanese".',
            rich_help_panel=TABLE,
        ),
    ] = None,
    base_rate: Annotated[
        Texts,
        typer.Option(
            metavar="FACT",
            help='How often as others: "Heart Disease:0.1 if nationality=Japanese".',
            rich_help_panel=TABLE,
        ),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(metavar="SQL", help="What is claimed: \"disease = 'flu'\".", rich_help_panel=ANSWERS),
    ] = None,
    victims: Annotated[
        int | None,
        typer.Option(min=1, max=1000, metavar="N", help="How many to attack, 20.", rich_help_panel=ANSWERS),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="What was rated, bought, visited.", rich_help_panel=RATINGS),
    ] = None,
    rating: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="How it was rated.", rich_help_panel=RATINGS)
    ] = None,
    date: Annotated[str | None, typer.Option(metavar="COLUMN", help="When.", rich_help_panel=RATINGS)] = None,
    days: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="By how many days --knows may be off, 14.", rich_help_panel=RATINGS
        ),
    ] = None,
    stars: Annotated[
        str | None, typer.Option(metavar="N", help="By how much, 0.", rich_help_panel=RATINGS)
    ] = None,
    wrong: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="How much of it may be wrong, 25%.", rich_help_panel=RATINGS),
    ] = None,
    genomes: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="People of the study, a column each.", rich_help_panel=FREQUENCIES),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Frequencies without the study.", rich_help_panel=FREQUENCIES),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many the study had.", rich_help_panel=FREQUENCIES),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="N", help="What was paid for noise in them.", rich_help_panel=FREQUENCIES),
    ] = None,
    panel: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="People who are not in the data; of a study, too.",
            rich_help_panel=SYNTHETIC,
        ),
    ] = None,
    original: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The people that it was made from.", rich_help_panel=SYNTHETIC),
    ] = None,
) -> None:
    """What an attacker finds out; exit code 4 if a bound that was set is broken.

    For the custodian alone: it is computed on real data. Nothing is charged and nothing is published.
    """
    from discreet.app.trials import attacking  # what it needs takes a second to load

    attacking.run(
        attacking.Request(
            release=release,
            policy=policy or (POLICY if POLICY.is_file() else None),
            table=table,
            knows=knows,
            victim=victim,
            earlier=earlier,
            quasi=quasi,
            sensitive=sensitive,
            hierarchies=hierarchy or (),
            columns=column or (),
            earlier_columns=earlier_column or (),
            rules_out=rules_out or (),
            base_rates=base_rate or (),
            at_most=at_most,
            posterior=posterior,
            person=person,
            claim=claim,
            victims=victims,
            title=title,
            rating=rating,
            date=date,
            days=days,
            stars=stars,
            wrong=wrong,
            genomes=genomes,
            reference=reference,
            people=people,
            epsilon=epsilon,
            original=original,
            panel=panel,
            engine=engine,
        ),
        report=report,
        as_json=as_json,
    )
