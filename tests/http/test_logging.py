"""A server leaves the logging of the process in which it runs alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.served import both_listeners
from tests.pgwire.served import write_data
from tests.services.surveys import TEXT, served, write_survey


class ClosableHandler(logging.Handler):
    """A handler as of a library that closes its stream, and with it stderr."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True
        super().close()


@pytest.fixture
def handler() -> Iterator[ClosableHandler]:
    made = ClosableHandler()
    yield made
    made.close()


def test_the_server_closes_no_handler_of_another_library(tmp_path: Path, handler: ClosableHandler) -> None:
    write_data(tmp_path)
    with both_listeners(tmp_path):
        assert not handler.is_closed
    assert not handler.is_closed


def test_a_survey_closes_no_handler_of_another_library(tmp_path: Path, handler: ClosableHandler) -> None:
    with served(write_survey(tmp_path, TEXT)):
        assert not handler.is_closed
    assert not handler.is_closed
