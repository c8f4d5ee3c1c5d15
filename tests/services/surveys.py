"""A survey that is served for a test, as users and respondents meet it."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from discreet.http.survey.survey_server import create_app, make_server_config
from discreet.services.collect.report_store import ReportStore
from discreet.services.collect.surveys import Survey, load_survey
from discreet.services.network_addresses import open_listening_socket

TEXT = """
title: Health at work
promise: 1%:5%
questions:
  smoking:
    text: Do you smoke?
    values: [Never, Sometimes, Every day]
  illness:
    text: What were you treated for last?
    values: [Nothing, Flu, Diabetes, Depression, Cancer, Something else, I would rather not say]
"""
TWO_ANSWERS = """
title: One question
promise: 1%:5%
questions:
  vote: {text: Did you vote?, values: [Yes I did, No I did not]}
"""


@dataclass(frozen=True, kw_only=True)
class Served:
    """Where a survey is, and what it is."""

    url: str
    survey: Survey

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path) as response:
            return str(response.read().decode())

    def post(self, body: object, kind: str = "application/json") -> tuple[int, dict[str, Any]]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + "reports", data, {"Content-Type": kind})
        try:
            with urllib.request.urlopen(request) as response:
                return int(response.status), json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    @property
    def kept(self) -> int:
        """How many browsers' reports the store's file holds; results show them in batches."""
        with ReportStore.open_readonly(self.survey.store) as store:
            return store.clients

    @property
    def results(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.get("results.json"))
        return found


def write_survey(folder: Path, text: str = TEXT) -> Path:
    path = folder / "survey.yaml"
    path.write_text(text)
    return path


@contextmanager
def served(path: Path) -> Iterator[Served]:
    """The survey of a file, on a free port of this machine."""
    survey = load_survey(path)
    with (
        ReportStore.open_or_create(survey.store, survey.id, survey.descriptions) as store,
        open_listening_socket("127.0.0.1", 0) as bound,
    ):
        server = uvicorn.Server(make_server_config(create_app(survey, store)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield Served(url=f"http://127.0.0.1:{bound.getsockname()[1]}/", survey=survey)
        finally:
            server.should_exit = True
            thread.join()
