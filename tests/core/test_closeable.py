"""A resource that cannot be closed does not hide the error that is being reported."""

from __future__ import annotations

import pytest

from discreet.core.engine import Closeable


class Gone(Closeable):
    """A connection whose server is not there any more."""

    def close(self) -> None:
        raise ConnectionRefusedError("refused")


def test_an_error_is_not_replaced_by_one_of_closing() -> None:
    with pytest.raises(KeyError, match="first"), Gone():
        raise KeyError("first")


def test_an_error_of_closing_alone_is_raised() -> None:
    with pytest.raises(ConnectionRefusedError), Gone():
        pass
