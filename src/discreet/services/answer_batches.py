"""The answers to several questions that were planned together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from discreet.belief import Belief
from discreet.belief.wording import format_number
from discreet.core.html_summary import build_facts, build_summary
from discreet.services.answers import Answer
from discreet.services.released_tables import name_entries


@dataclass(frozen=True, kw_only=True, repr=False)
class AnswerBatch(Sequence[Answer]):
    """The answers to several questions, in their order, with what all of them cost.

    `epsilon` is what was charged now for all of them, `entries` the ledger entries that they are computed
    from; `belief` bounds what an attacker can believe after all releases, these included.
    """

    answers: tuple[Answer, ...]
    epsilon: float
    entries: tuple[int, ...]
    belief: Belief
    sentence: str

    @overload
    def __getitem__(self, place: int) -> Answer: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Answer]: ...

    def __getitem__(self, place: int | slice) -> Answer | Sequence[Answer]:
        """Return the answer to a question by its place."""
        return self.answers[place]

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self.answers)

    def __iter__(self) -> Iterator[Answer]:
        """Yield the answers in the order of the questions."""
        return iter(self.answers)

    def __repr__(self) -> str:
        return f"<AnswerBatch of {len(self)} answers: {self.cost_sentence}>"

    def _repr_html_(self) -> str:
        parts = [each._repr_html_() for each in self.answers]
        return build_summary(*parts, build_facts([("cost", self.cost_sentence), ("belief", self.sentence)]))

    @property
    def repeated(self) -> bool:
        """True if all were free: everything that they need was released before."""
        return self.epsilon == 0

    @property
    def cost_sentence(self) -> str:
        """The charge of all answers, and the entries that they are computed from, in a few words."""
        if not self.entries:
            return "nothing: all of it follows from the questions and the policy"
        named = name_entries(self.entries)
        if self.repeated:
            return f"nothing: everything that they need was released before ({named})"
        return f"epsilon {format_number(self.epsilon)} ({named})"

    def to_json(self) -> dict[str, object]:
        """Return the answers as a JSON object."""
        return {
            "answers": [each.to_json() for each in self.answers],
            "epsilon": self.epsilon,
            "belief": {
                "prior": self.belief.prior,
                "posterior": self.belief.highest,
                "tail": self.belief.tail,
            },
            "entries": list(self.entries),
            "repeated": self.repeated,
            "sentence": self.sentence,
        }
