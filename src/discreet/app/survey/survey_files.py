"""A survey: its questions, and one operator each, so that all answers of a person together keep the promise.

    title: Health at work
    promise: 1%:5%                       # about everything that one person answers here
    store: health.sqlite                 # beside this file; SURVEY.sqlite by default
    batch: 20                            # results change when this many new reports are there; at least 5
    questions:
      smoking:
        text: Do you smoke?
        values: [Never, Sometimes, Every day]
        share: 50%                       # of the promise; all alike where no question has one

Composition epsilon of the promise is split over the questions, and each gets the subset selection with the
            least error under its part: a report is a set of answers, which holds the person's own with a
            stated probability. With two or three answers to a question that is randomized response. Losses
            add up, so whatever is claimed of all answers together stays within the promise.
Identity    `id` names everything that reports depend on. A survey that is changed is another survey: reports
            of the two are never mixed, and who answers both spends two promises.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.app.collect.report_files import Description
from discreet.app.collect.yaml_files import File, Plain
from discreet.app.survey.report_store import SUFFIX
from discreet.app.yaml_lines import Place
from discreet.belief import Promise
from discreet.belief.wording import format_percent
from discreet.core.errors import RequestError
from discreet.core.neighbor_relations import Relation
from discreet.local import SubsetSelection
from discreet.local.thresholds import MOST, parts_of

ENTRIES = ("title", "intro", "promise", "store", "batch", "questions")
OF_QUESTION = ("text", "values", "share")
MOST_QUESTIONS, MOST_VALUES = 100, 64
BATCH, LEAST_BATCH, MOST_BATCH = 20, 5, 1_000_000


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked, what may be answered, and how the answer is randomized."""

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
    batch: int = BATCH

    @property
    def epsilon(self) -> float:
        """What all reports of one person together lose, of the laws that are sampled."""
        return sum(question.operator.epsilon for question in self.questions)

    @property
    def descriptions(self) -> tuple[Description, ...]:
        """What the reports of each question are of."""
        return tuple(
            Description(operator=each.operator, values=each.values, column=each.name, promise=self.promise)
            for each in self.questions
        )

    @property
    def id(self) -> str:
        laws = [_law(each) for each in self.questions]
        text = json.dumps([self.title, self.promise.prior, self.promise.posterior, laws], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def public(self) -> dict[str, Any]:
        """What the page is told: the promise and the laws, from which it computes what it says of them."""
        return {
            "id": self.id,
            "title": self.title,
            "intro": self.intro,
            "promise": {"prior": _decimal(self.promise.prior), "posterior": _decimal(self.promise.posterior)},
            "questions": [_law(each) for each in self.questions],
        }


def load_survey(path: Path) -> Survey:
    """The survey of a file, or one sentence that names its line."""
    file = File(path, "survey")
    entries = file.entries
    file.require_known((), entries, ENTRIES)
    for name in ("title", "promise", "questions"):
        if name not in entries:
            file.refuse((), f"a survey needs {name}")
    promise = file.promise(("promise",), entries["promise"])
    store = file.text(("store",), entries["store"]) if "store" in entries else f"{path.stem}{SUFFIX}"
    if not store.endswith(SUFFIX):
        file.refuse(("store",), f"must end in {SUFFIX}")
    return Survey(
        title=file.text(("title",), entries["title"]),
        intro=file.text(("intro",), entries["intro"]) if "intro" in entries else "",
        promise=promise,
        questions=_questions(file, entries["questions"], promise),
        store=path.absolute().parent / store,
        batch=_batch(file, entries),
    )


def _batch(file: File, entries: dict[str, Plain]) -> int:
    """After how many new reports the results change."""
    if "batch" not in entries:
        return BATCH
    text = file.text(("batch",), entries["batch"])
    size = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    if not LEAST_BATCH <= size <= MOST_BATCH:
        file.refuse(("batch",), f"must be a whole number from {LEAST_BATCH} to {MOST_BATCH:,}")
    return size


def _questions(file: File, given: Plain, promise: Promise) -> tuple[Question, ...]:
    listed = {
        name: file.mapping(("questions", name), entry)
        for name, entry in file.mapping(("questions",), given).items()
    }
    if not 0 < len(listed) <= MOST_QUESTIONS:
        file.refuse(("questions",), f"must be from 1 to {MOST_QUESTIONS}")
    whole = min(Fraction(promise.epsilon_for(Relation.VALUE)), Fraction(MOST))
    shares = _shares(file, listed)
    return tuple(_question(file, name, entry, whole * shares[name]) for name, entry in listed.items())


def _shares(file: File, listed: dict[str, dict[str, Plain]]) -> dict[str, Fraction]:
    """Each question's part of epsilon, in sum at most 1."""
    given = [name for name, entry in listed.items() if "share" in entry]
    if not given:
        return dict.fromkeys(listed, Fraction(1, len(listed)))
    if len(given) < len(listed):
        file.refuse(("questions",), "give every question a share of the promise, or none")
    shares = {
        name: Fraction(file.share(("questions", name, "share"), entry["share"])).limit_denominator(10**9)
        for name, entry in listed.items()
    }
    if sum(shares.values()) > 1:
        file.refuse(
            ("questions",), f"shares of the promise sum to {format_percent(float(sum(shares.values())))}"
        )
    return shares


def _question(file: File, name: str, entry: dict[str, Plain], epsilon: Fraction) -> Question:
    place: Place = ("questions", name)
    file.require_known(place, entry, OF_QUESTION)
    for needed in ("text", "values"):
        if needed not in entry:
            file.refuse(place, f"a question needs {needed}")
    values = tuple(file.texts((*place, "values"), entry["values"]))
    if not 2 <= len(values) <= MOST_VALUES or len(set(values)) < len(values):
        file.refuse((*place, "values"), f"must be from 2 to {MOST_VALUES} different answers")
    try:
        operator = SubsetSelection.under(epsilon, len(values))
    except RequestError:
        file.refuse(place, "its share of the promise is too small to learn anything")
    return Question(
        name=name, text=file.text((*place, "text"), entry["text"]), values=values, operator=operator
    )


def _law(question: Question) -> dict[str, Any]:
    """All that the answer's randomization depends on; a threshold is of 2**64, and too long for a number."""
    return {
        "name": question.name,
        "text": question.text,
        "values": list(question.values),
        "size": question.operator.size,
        "threshold": str(parts_of(question.operator.truth)),
    }


def _decimal(probability: float) -> str:
    """A number in digits, without an exponent."""
    return format(Decimal(repr(float(probability))), "f")
