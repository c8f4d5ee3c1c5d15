"""Survey results in batches, so that two views of the page do not reveal one respondent's report.

Batch       Results change when at least `size` new reports have arrived, and then include all of them: the
            difference between two pages is the sum of that many reports. An observer who sent all others of a
            batch still learns the last one; it is a randomized report, which the promise covers.
Stored      The counts on the page are written to a file beside the store before they are shown, so that a
            restarted server shows the same. The file holds nothing that was not shown.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.local.report_formats import ReportCounts, count_stored_reports
from discreet.services.collect.estimate import EstimateResult, estimate_counts
from discreet.services.collect.report_store import ReportStore, get_view_name

PUBLISHED_SUFFIX = ".shown.json"


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
                count_stored_reports(each.operator, self._store, get_view_name(place))
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
