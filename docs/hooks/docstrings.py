"""How docstrings become Markdown on the reference pages: doctests as code, labelled lines as paragraphs."""

from __future__ import annotations

import re
from typing import Any

import griffe

LABELLED = re.compile(r"^(?:\[[^\]]+\]|[A-Z][\w ,-]{0,14}?) {2,}(?=\S)")


class Docstrings(griffe.Extension):
    """Rewrites the docstring of every object that is shown."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Fence what begins with >>> up to the next empty line, and part labels from each other."""
    made: list[str] = []
    fenced = labelled = False
    for line in text.splitlines():
        if line.startswith(">>> ") and not fenced:
            made += ["", "```pycon"]
            fenced = True
        elif not line.strip():
            made += ["```"] if fenced else []
            fenced = labelled = False
        label = None if fenced else LABELLED.match(line)
        if label is not None:
            made += ["", f"**{label[0].strip()}** {line[label.end() :]}"]
            labelled = True
        else:
            made.append(line.strip() if labelled and not fenced else line)
    return "\n".join([*made, "```"] if fenced else made)
