"""A survey, its YAML file, and its results: questions, each with an operator, that together keep the promise.

    title: Health at work
    promise: 1%:5%                       # about everything that one person answers here
    store: health.sqlite                 # beside this file; SURVEY.sqlite by default
    batch: 20                            # results change after this many new reports; at least 5
    questions:
      smoking:
        text: Do you smoke?
        values: [Never, Sometimes, Every day]
        share: 50%                       # of the promise; all alike where no question has one

Composition The promise's epsilon is split over the questions, and each gets the subset selection with the
            least error under its part: a report is a set of answers that contains the person's own with a
            stated probability. With two or three answers to a question that is randomized response. Losses
            add up, so a claim about all answers together stays within the promise.
Identity    `id` is a hash of everything that reports depend on. A changed survey is another survey: reports
            of the two are never mixed, and a person who answers both spends two promises.
Batch       Results change when at least `batch` new reports have arrived, and then include all of them: the
            difference between two pages is the sum of that many reports. An observer who sent all others of a
            batch still learns the last one; it is a randomized report, which the promise covers.
Published   The counts on the page are written to a file beside the store before they are shown, so that a
            restarted server shows the same. The file holds nothing that was not shown.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.belief import Promise
from discreet.belief.wording import format_percent
from discreet.core.errors import RequestError
from discreet.core.neighbor_relations import Relation
from discreet.local import SubsetSelection
from discreet.local.exact_sampling import MAX_EPSILON, fraction_to_threshold
from discreet.local.report_formats import ReportCounts, count_stored_reports
from discreet.services.collect.estimate import EstimateResult, estimate_counts
from discreet.services.collect.operators import Plain, YamlFile
from discreet.services.collect.report_files import ReportDescription
from discreet.services.collect.report_store import STORE_SUFFIX, ReportStore, get_view_name
from discreet.services.yaml_reader import KeyPath

ENTRIES = ("title", "intro", "promise", "store", "batch", "questions")
QUESTION_ENTRIES = ("text", "values", "share")
MAX_QUESTIONS, MAX_VALUES = 100, 64
DEFAULT_BATCH, MIN_BATCH, MAX_BATCH = 20, 5, 1_000_000
PUBLISHED_SUFFIX = ".shown.json"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question, its possible answers, and the operator that randomizes an answer."""

    name: str
    text: str
    values: tuple[str, ...]
    operator: SubsetSelection


@dataclass(frozen=True, kw_only=True)
class Survey:
    """Questions under one promise."""

    title: str
    intro: str
    promise: Promise
    questions: tuple[Question, ...]
    store: Path
    batch: int = DEFAULT_BATCH

    @property
    def epsilon(self) -> float:
        """The total privacy loss of one person's reports, under the sampled distributions."""
        return sum(question.operator.epsilon for question in self.questions)

    @property
    def descriptions(self) -> tuple[ReportDescription, ...]:
        """The description of each question's reports."""
        return tuple(
            ReportDescription(
                operator=each.operator, values=each.values, column=each.name, promise=self.promise
            )
            for each in self.questions
        )

    @property
    def id(self) -> str:
        """A hash of the title, the promise and the randomization of every question."""
        laws = [_question_to_json(each) for each in self.questions]
        text = json.dumps([self.title, self.promise.prior, self.promise.posterior, laws], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def to_public_json(self) -> dict[str, Any]:
        """Return the JSON for the page: the promise and the distributions, which it verifies itself."""
        return {
            "id": self.id,
            "title": self.title,
            "intro": self.intro,
            "promise": {
                "prior": _format_decimal(self.promise.prior),
                "posterior": _format_decimal(self.promise.posterior),
            },
            "questions": [_question_to_json(each) for each in self.questions],
        }


def load_survey(path: Path) -> Survey:
    """Return the survey of a file; raise an error that names the line."""
    file = YamlFile(path, "survey")
    entries = file.entries
    file.require_known_names((), entries, ENTRIES)
    for name in ("title", "promise", "questions"):
        if name not in entries:
            file.refuse((), f"a survey needs {name}")
    promise = file.parse_promise(("promise",), entries["promise"])
    store = (
        file.require_text(("store",), entries["store"])
        if "store" in entries
        else f"{path.stem}{STORE_SUFFIX}"
    )
    if not store.endswith(STORE_SUFFIX):
        file.refuse(("store",), f"must end in {STORE_SUFFIX}")
    return Survey(
        title=file.require_text(("title",), entries["title"]),
        intro=file.require_text(("intro",), entries["intro"]) if "intro" in entries else "",
        promise=promise,
        questions=_parse_questions(file, entries["questions"], promise),
        store=path.absolute().parent / store,
        batch=_parse_batch(file, entries),
    )


def _parse_batch(file: YamlFile, entries: dict[str, Plain]) -> int:
    if "batch" not in entries:
        return DEFAULT_BATCH
    text = file.require_text(("batch",), entries["batch"])
    size = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    if not MIN_BATCH <= size <= MAX_BATCH:
        file.refuse(("batch",), f"must be a whole number from {MIN_BATCH} to {MAX_BATCH:,}")
    return size


def _parse_questions(file: YamlFile, given: Plain, promise: Promise) -> tuple[Question, ...]:
    listed = {
        name: file.require_mapping(("questions", name), entry)
        for name, entry in file.require_mapping(("questions",), given).items()
    }
    if not 0 < len(listed) <= MAX_QUESTIONS:
        file.refuse(("questions",), f"must be from 1 to {MAX_QUESTIONS}")
    whole = min(Fraction(promise.epsilon_for(Relation.VALUE)), Fraction(MAX_EPSILON))
    shares = _parse_shares(file, listed)
    return tuple(_parse_question(file, name, entry, whole * shares[name]) for name, entry in listed.items())


def _parse_shares(file: YamlFile, listed: dict[str, dict[str, Plain]]) -> dict[str, Fraction]:
    """Return each question's fraction of epsilon; they sum to at most 1."""
    given = [name for name, entry in listed.items() if "share" in entry]
    if not given:
        return dict.fromkeys(listed, Fraction(1, len(listed)))
    if len(given) < len(listed):
        file.refuse(("questions",), "give every question a share of the promise, or none")
    shares = {
        name: Fraction(file.parse_share(("questions", name, "share"), entry["share"])).limit_denominator(
            10**9
        )
        for name, entry in listed.items()
    }
    if sum(shares.values()) > 1:
        file.refuse(
            ("questions",), f"shares of the promise sum to {format_percent(float(sum(shares.values())))}"
        )
    return shares


def _parse_question(file: YamlFile, name: str, entry: dict[str, Plain], epsilon: Fraction) -> Question:
    place: KeyPath = ("questions", name)
    file.require_known_names(place, entry, QUESTION_ENTRIES)
    for needed in ("text", "values"):
        if needed not in entry:
            file.refuse(place, f"a question needs {needed}")
    values = tuple(file.require_texts((*place, "values"), entry["values"]))
    if not 2 <= len(values) <= MAX_VALUES or len(set(values)) < len(values):
        file.refuse((*place, "values"), f"must be from 2 to {MAX_VALUES} different answers")
    try:
        operator = SubsetSelection.for_epsilon(epsilon, len(values))
    except RequestError:
        file.refuse(place, "its share of the promise is too small to learn anything")
    return Question(
        name=name, text=file.require_text((*place, "text"), entry["text"]), values=values, operator=operator
    )


def _question_to_json(question: Question) -> dict[str, Any]:
    """Return everything that the randomization depends on.

    The threshold is a fraction of 2**64, and sent as text, as JavaScript's numbers are too short for it.
    """
    return {
        "name": question.name,
        "text": question.text,
        "values": list(question.values),
        "size": question.operator.size,
        "threshold": str(fraction_to_threshold(question.operator.truth)),
    }


def _format_decimal(probability: float) -> str:
    """Return a number in decimal digits, without an exponent."""
    return format(Decimal(repr(float(probability))), "f")


class BatchedResults:
    """Estimates from the reports of a store, as of the last complete batch."""

    def __init__(self, store: ReportStore, survey: str, size: int) -> None:
        self._store, self._survey, self._size = store, survey, size
        self._descriptions = store.descriptions
        self._path = get_published_path(store.path)
        self._guard = threading.Lock()
        self._published_counts = self._load()
        with suppress(OSError):  # a full disk must not keep the server from starting
            self.refresh()

    def refresh(self) -> None:
        """Include the reports of the next batch, if it is complete."""
        with self._guard:
            before = max((each.clients for each in self._published_counts), default=0)
            if self._store.clients < before + self._size:
                return
            found = [
                count_stored_reports(each.operator.report_format, self._store, get_view_name(place))
                for place, each in enumerate(self._descriptions)
            ]
            self._save(found)
            self._published_counts = found

    def estimate(self, confidence: float) -> list[EstimateResult]:
        """Return the estimates of each question; none before the first batch is complete."""
        together = sum(each.operator.epsilon for each in self._descriptions)
        pairs = zip(self._descriptions if self._published_counts else (), self._published_counts, strict=True)
        return [
            replace(estimate_counts(each, counts, confidence), total_epsilon=together)
            for each, counts in pairs
        ]

    def _load(self) -> list[ReportCounts]:
        try:
            kept = json.loads(self._path.read_text())
            found = [
                ReportCounts(clients=int(each["clients"]), cells=np.array(each["cells"], np.int64))
                for each in kept["questions"]
            ]
            return found if (kept["survey"], len(found)) == (self._survey, len(self._descriptions)) else []
        except (OSError, ValueError, TypeError, KeyError):
            return []

    def _save(self, found: list[ReportCounts]) -> None:
        draft = self._path.with_name(f".{self._path.name}.draft")
        counted = [{"clients": each.clients, "cells": each.cells.tolist()} for each in found]
        content = json.dumps({"survey": self._survey, "questions": counted})
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self._path)


def get_published_path(store: Path) -> Path:
    """Return the path of the file that holds the published counts."""
    return store.with_name(store.name + PUBLISHED_SUFFIX)
