"""Matching that refuses a release with unreadable labels, and reports labels that are unreadable in part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from discreet.attacks.attacker_knowledge import AttackerKnowledge
from discreet.attacks.class_matching import IllegibleColumn, find_illegible_columns, match_people
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.published_table import PublishedTable
from discreet.core.errors import RequestError


def match_readable(
    published: PublishedTable, known: AttackerKnowledge, columns: Mapping[str, str], name: str
) -> tuple[MatchSets, tuple[str, ...]]:
    """Return match sets and sentences on unreadable labels; raise RequestError if nothing could match."""
    found = find_illegible_columns(published, known, columns)
    _refuse_illegible([each for each in found if each.is_wholly_illegible], name)
    sets = match_people(published, known, columns)
    if not sets.people.any():
        _refuse_illegible(found, name)
    return sets, tuple(_describe_illegible(found, name))


def _refuse_illegible(illegible_columns: Sequence[IllegibleColumn], name: str) -> None:
    for each in illegible_columns:
        if each.kind is not None:
            raise RequestError(
                f"attack: {name} has {each.kind} in {each.column}, and the known values of {each.known_column} "
                "have none.",
                hint=f"Check it, or name another column of a register with --column {each.column}=NAME.",
            )
    if illegible_columns:
        columns = ", ".join(each.column for each in illegible_columns)
        raise RequestError(
            f"attack: the labels of {columns} in {name} are not known values, and no hierarchy says what "
            "they cover.",
            hint=f"Give {' '.join(f'--hierarchy {each.column}=FILE' for each in illegible_columns)} or the --policy; "
            "if labels are plain values, spell known ones the same way.",
        )


def _describe_illegible(illegible_columns: Sequence[IllegibleColumn], name: str) -> Iterator[str]:
    for each in illegible_columns:
        labels = "label" if each.total == 1 else "labels"
        yield (
            f"{each.illegible} of the {each.total} {labels} of {each.column} in {name} could not be read and "
            f"cover nobody here; if they are groups, give --hierarchy {each.column}=FILE."
        )
