"""`discreet attack`: what someone could find out about one person, from a release or from answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

POLICY = Path("privacy.yaml")
Texts = list[str] | None


def run(
    release: Annotated[
        str, typer.Argument(help="A published .parquet, .csv or .duckdb file; or a policy.yaml, to be asked.")
    ],
    policy: Annotated[Path | None, typer.Option("--policy", "-p", help="The custodian's policy.")] = None,
    knows: Annotated[
        str | None, typer.Option(help="A register of people, such as a voter list; else everybody is known.")
    ] = None,
    victim: Annotated[
        str | None, typer.Option(help='Someone of the register, "name=Joe"; or values, "age=28,zip=13068".')
    ] = None,
    earlier: Annotated[
        str | None, typer.Option("--with", help="An earlier release about the same people.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Where to file it: .html, .md or .json.")] = None,
    at_most: Annotated[
        str | None, typer.Option(help="What any attack may come to believe, such as 30%; else exit code 4.")
    ] = None,
    posterior: Annotated[str | None, typer.Option(help="The same, as anonymize calls it.")] = None,
    rules_out: Annotated[
        Texts, typer.Option(help='What attackers rule out: "Heart Disease if nationality=Japanese".')
    ] = None,
    base_rate: Annotated[
        Texts, typer.Option(help='How often as others: "Heart Disease:0.1 if nationality=Japanese".')
    ] = None,
    column: Annotated[
        Texts, typer.Option(help="RELEASE=REGISTER: how the register calls a column of the release.")
    ] = None,
    earlier_column: Annotated[Texts, typer.Option(help="The same for the earlier release.")] = None,
    table: Annotated[str | None, typer.Option(help="The policy's table that is attacked.")] = None,
    quasi: Annotated[str | None, typer.Option(help="What attackers may know: a,b,c.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="What they want to know: a,b.")] = None,
    hierarchy: Annotated[Texts, typer.Option(help="COLUMN=FILE, in ARX's format.")] = None,
    person: Annotated[
        str | None, typer.Option(help="The column that tells which rows of the release are one person's.")
    ] = None,
    claim: Annotated[
        str | None, typer.Option(help="Of answers: the condition that is claimed, \"disease = 'flu'\".")
    ] = None,
    victims: Annotated[int, typer.Option(min=1, max=1000, help="Of answers: how many to attack.")] = 20,
    title: Annotated[str | None, typer.Option(help="Of ratings: the column of what was rated.")] = None,
    rating: Annotated[str | None, typer.Option(help="Of ratings: the column of how.")] = None,
    date: Annotated[str | None, typer.Option(help="Of ratings: the column of when.")] = None,
    days: Annotated[
        int | None, typer.Option(min=0, help="Of ratings: by how many days --knows may be off, 14.")
    ] = None,
    stars: Annotated[str | None, typer.Option(help="Of ratings: by how much --knows may be off, 0.")] = None,
    wrong: Annotated[
        str | None, typer.Option(help="Of ratings: how much of --knows may be plainly wrong, 25%.")
    ] = None,
    genomes: Annotated[
        str | None,
        typer.Option(help="Of allele frequencies: people of the study, a column each."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Of allele frequencies: those without the study.")
    ] = None,
    people: Annotated[
        int | None, typer.Option(min=1, help="Of allele frequencies: how many the study had.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Of allele frequencies: what was paid for noise in the counts.")
    ] = None,
    original: Annotated[
        str | None, typer.Option(help="Of a synthetic table: the people that it was made from.")
    ] = None,
    panel: Annotated[
        str | None, typer.Option(help="Of these two: people who are not in the data or the study.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
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
        ),
        report=report,
        as_json=as_json,
    )
