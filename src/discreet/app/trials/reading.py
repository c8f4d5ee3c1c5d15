"""Matching that refuses a release with unreadable labels, and reports labels that are unreadable in part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from discreet.attacks.known import Known
from discreet.attacks.legibility import Illegible, illegible
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.matching import match
from discreet.attacks.published import PublishedTable
from discreet.core.errors import RequestError


def matched(
    published: PublishedTable, known: Known, columns: Mapping[str, str], name: str
) -> tuple[MatchSets, tuple[str, ...]]:
    """Return match sets and sentences on unreadable labels; raise RequestError if nothing could match."""
    found = illegible(published, known, columns)
    _refuse([each for each in found if each.wholly], name)
    sets = match(published, known, columns)
    if not sets.people.any():
        _refuse(found, name)
    return sets, tuple(_told(found, name))


def _refuse(found: Sequence[Illegible], name: str) -> None:
    for each in found:
        if each.kind is not None:
            raise RequestError(
                f"attack: {name} has {each.kind} in {each.column}, and the known values of {each.called} "
                "have none.",
                hint=f"Check it, or name another column of a register with --column {each.column}=NAME.",
            )
    if found:
        columns = ", ".join(each.column for each in found)
        raise RequestError(
            f"attack: the labels of {columns} in {name} are not known values, and no hierarchy says what "
            "they cover.",
            hint=f"Give {' '.join(f'--hierarchy {each.column}=FILE' for each in found)} or the --policy; "
            "if labels are plain values, spell known ones the same way.",
        )


def _told(found: Sequence[Illegible], name: str) -> Iterator[str]:
    for each in found:
        labels = "label" if each.labels == 1 else "labels"
        yield (
            f"{each.unread} of the {each.labels} {labels} of {each.column} in {name} could not be read and "
            f"cover nobody here; if they are groups, give --hierarchy {each.column}=FILE."
        )
