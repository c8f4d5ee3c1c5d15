"""Writers of hashes, which identify people and order rows."""

from __future__ import annotations

from discreet.engines.dialects import kinds
from discreet.engines.dialects.expressions import Calls, Expressions
from discreet.engines.dialects.kinds import Family, Piece


def sort_key(writer: Expressions, pieces: list[Piece]) -> Piece:
    return Piece(text=writer.dialect.digest(pieces[::2]), kind=kinds.DIGEST)


def hidden(writer: Expressions, pieces: list[Piece]) -> Piece:
    return Piece(text=pieces[0].text, kind=kinds.PERSON)


def hashed(writer: Expressions, pieces: list[Piece]) -> Piece:
    """Write the hash of a row; a hash is not hashed again."""
    if len(pieces) == 1 and pieces[0].kind.family is Family.DIGEST:
        return pieces[0]
    return Piece(text=writer.dialect.scattered(pieces), kind=kinds.DIGEST)


CALLS: Calls = {
    "create_sort_key": sort_key,
    "md5_number": hidden,
    "md5_number_lower": hidden,
    "hash": hashed,
}
