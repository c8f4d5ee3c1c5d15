"""Report documents: one self-contained HTML page, or Markdown, from the same parts.

Figures are inline SVG, so the page fetches nothing; Markdown has the captions instead. A notice at the top
says who may read the document. The HTML is a few tags around escaped text: the template engine is installed
with the server only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, "DejaVu Sans", Helvetica, Arial, sans-serif; color: #1f2933;
  background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1.25rem; }
.notice { border-left: 4px solid #d55e00; background: #fdf3ea; padding: .6rem .9rem; margin: 0 0 1.5rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; border-bottom: 1px solid #e4e7eb; padding-bottom: .25rem; }
p { margin: .5rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .7rem 0; font-size: .93rem; }
caption { text-align: left; color: #52606d; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .32rem 1.1rem .32rem 0;
  border-bottom: 1px solid #e4e7eb; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { color: #52606d; font-size: .9rem; }
.good { color: #00694a; } .bad { color: #b34700; font-weight: 600; }
@media print { body { margin: 0; max-width: none; } h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; } }
"""


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """A paragraph; `tone` is good, bad or empty."""

    text: str
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table; `numbers` are the indices of numeric columns."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A chart as SVG, with a caption that says what it shows."""

    svg: str
    caption: str


DocumentPart = Paragraph | Grid | Picture


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading and the parts below it."""

    title: str
    parts: tuple[DocumentPart, ...]


@dataclass(frozen=True, kw_only=True)
class Document:
    """A report with title, notice and sections."""

    title: str
    notice: str
    sections: tuple[Section, ...]

    def to_html(self) -> str:
        body = "\n".join(
            f"<section><h2>{escape(section.title)}</h2>\n{_join_html(section.parts)}</section>"
            for section in self.sections
        )
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{STYLE}</style></head>\n<body>\n"
            f'<p class="notice" role="note">{escape(self.notice)}</p>\n<h1>{escape(self.title)}</h1>\n'
            f"{body}\n</body></html>\n"
        )

    def to_markdown(self) -> str:
        sections = [f"## {section.title}\n\n{_join_markdown(section.parts)}" for section in self.sections]
        return "\n\n".join([f"> {self.notice}", f"# {self.title}", *sections]) + "\n"


def _join_html(parts: Sequence[DocumentPart]) -> str:
    return "\n".join(_part_to_html(part) for part in parts) + "\n"


def _part_to_html(part: DocumentPart) -> str:
    if isinstance(part, Paragraph):
        tone = f' class="{escape(part.tone)}"' if part.tone else ""
        return f"<p{tone}>{escape(part.text)}</p>"
    if isinstance(part, Picture):
        return f"<figure>{part.svg}<figcaption>{escape(part.caption)}</figcaption></figure>"
    caption = f"<caption>{escape(part.caption)}</caption>" if part.caption else ""
    head = f"<thead>{_row_to_html('th', part.head, part.numbers)}</thead>" if any(part.head) else ""
    rows = "\n".join(_row_to_html("td", row, part.numbers) for row in part.rows)
    return f'<div class="scroll"><table>{caption}{head}\n<tbody>{rows}</tbody></table></div>'


def _row_to_html(tag: str, cells: Sequence[str], numbers: Sequence[int]) -> str:
    kind = [' class="number"' if place in numbers else "" for place in range(len(cells))]
    inner = "".join(f"<{tag}{kind[place]}>{escape(cell)}</{tag}>" for place, cell in enumerate(cells))
    return f"<tr>{inner}</tr>"


def _join_markdown(parts: Sequence[DocumentPart]) -> str:
    return "\n\n".join(_part_to_markdown(part) for part in parts)


def _part_to_markdown(part: DocumentPart) -> str:
    if isinstance(part, Paragraph):
        return _escape_markdown(part.text)
    if isinstance(part, Picture):
        return f"*{_escape_markdown(part.caption)}*"
    lines = [part.head, tuple("---:" if place in part.numbers else "---" for place in range(len(part.head)))]
    table = "\n".join("| " + " | ".join(map(_escape_markdown, row)) + " |" for row in (*lines, *part.rows))
    return f"{_escape_markdown(part.caption)}\n\n{table}" if part.caption else table


def _escape_markdown(text: str) -> str:
    """Return text on one line, with Markdown's special characters escaped."""
    for mark in "\\`*_|<>":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())
