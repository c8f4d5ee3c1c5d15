"""Pseudonyms: linkable by equal key and column alone; the key file is private."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest

from discreet.anonymity.recodings.pseudonyms import Pseudonyms, read_or_create_key
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.randomness import Randomness

KEY = bytes(range(32))


def test_a_pseudonym_is_the_keyed_hash_of_column_and_value() -> None:
    message = (4).to_bytes(8, "big") + b"name" + "Zoë".encode()
    wanted = hmac.new(KEY, message, hashlib.sha256).hexdigest()[:32]
    assert Pseudonyms(column="name", key=KEY).pseudonymize(["Zoë", None]) == [wanted, None]


def test_equal_values_are_linked_within_a_column_and_key_and_not_beyond() -> None:
    first, again, other = Pseudonyms(column="name", key=KEY).pseudonymize(["Ann", "Ann", "Bob"])
    assert first == again != other
    assert Pseudonyms(column="names", key=KEY).pseudonymize(["Ann"]) != [first]
    assert Pseudonyms(column="name", key=KEY[::-1]).pseudonymize(["Ann"]) != [first]
    # the boundary between column and value is not lost
    assert Pseudonyms(column="nameA", key=KEY).pseudonymize(["nn"]) != [first]


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "pseudonyms.key"
    key = read_or_create_key(path, Randomness())
    assert len(key) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_or_create_key(path, Randomness()) == key
    assert read_or_create_key(tmp_path / "other.key", Randomness()) != key


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pseudonyms.key"
    read_or_create_key(path, Randomness())
    path.chmod(0o640)
    with pytest.raises(RequestError, match=r"Other users can read .* chmod 600"):
        read_or_create_key(path, Randomness())


@pytest.mark.parametrize("text", ["", "abc", "zz" * 32, "ab" * 31])
def test_a_file_that_is_no_key_is_refused_without_being_quoted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pseudonyms.key"
    path.touch(0o600)
    path.write_text(text)
    with pytest.raises(RequestError, match="does not hold a key"):
        read_or_create_key(path, Randomness())


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot be written"):
        read_or_create_key(tmp_path / "nowhere" / "key", Randomness())


def test_nothing_that_is_printed_or_declared_holds_the_key() -> None:
    pseudonyms = Pseudonyms(column="name", key=KEY)
    declared = pseudonyms.declaration
    assert declared["column"] == "name"
    assert "HMAC-SHA256" in declared["method"]
    for text in (repr(pseudonyms), *declared.values()):
        assert KEY.hex() not in text
        assert repr(KEY) not in text
    assert declared["key"] != Pseudonyms(column="name", key=KEY[::-1]).declaration["key"]


def test_a_short_key_is_refused_without_being_quoted() -> None:
    with pytest.raises(InvalidParameterError, match="must be 32 bytes; got 5 bytes"):
        Pseudonyms(column="name", key=b"short")
