"""Small HTML tables by which results show themselves in a notebook.

A class builds its `_repr_html_` from a title, rows and sentences; markup and escaping are here alone, so that
no label, name or value of a result can become markup.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

MAX_ROWS = 20
"""More rows than this are left to `to_pandas()`: a notebook is read, and is often shared."""


def build_summary(*blocks: str) -> str:
    """Return blocks of HTML as one section."""
    return f'<section class="discreet">{"".join(each for each in blocks if each)}</section>'


def build_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    right: Collection[str] = (),
    row_count: int | None = None,
) -> str:
    """Return a table; columns of `right` are aligned to the right.

    `row_count` is the number of rows that there are, if `rows` is only the first of them.

    >>> build_table(["sex", "n"], [["<b>", "12 ± 3"]], right=["n"])
    '<div style="overflow-x:auto;margin-bottom:.5em"><table><thead><tr><th scope="col"
    style="text-align:left">sex</th><th
    scope="col" style="text-align:right;white-space:nowrap">n</th></tr></thead><tbody><tr><td
    style="text-align:left">&lt;b&gt;</td><td style="text-align:right;white-space:nowrap">12 ±
    3</td></tr></tbody></table></div>'
    """
    # a number and its error stay on one line; a table too wide for a phone scrolls by itself
    sides = ["right;white-space:nowrap" if name in right else "left" for name in columns]
    heads = "".join(
        f'<th scope="col" style="text-align:{side}">{escape(name)}</th>'
        for side, name in zip(sides, columns, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{side}">{escape(cell)}</td>'
            for side, cell in zip(sides, row, strict=True)
        )
        + "</tr>"
        for row in rows[:MAX_ROWS]
    )
    more = (len(rows) if row_count is None else row_count) - min(len(rows), MAX_ROWS)
    table = _wrap_table(caption, f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>")
    return table + (build_note(f"… {more:,} more rows") if more > 0 else "")


def build_facts(facts: Iterable[tuple[str, str]], *, caption: str = "") -> str:
    """Return names and values as a table with a heading in each row.

    >>> build_facts([("epsilon", "1.65")], caption="A promise")
    '<p style="margin:0;font-weight:bold">A promise</p><div
    style="overflow-x:auto;margin-bottom:.5em"><table aria-label="A
    promise"><tbody><tr><th scope="row"
    style="text-align:left;white-space:nowrap">epsilon</th><td
    style="text-align:left">1.65</td></tr></tbody></table></div>'
    """
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left;white-space:nowrap">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in facts
    )
    return _wrap_table(caption, f"<tbody>{rows}</tbody>")


def build_sentence(text: str) -> str:
    """Return a paragraph; an empty text is none."""
    return f"<p>{escape(text)}</p>" if text else ""


def build_note(text: str) -> str:
    """Return a paragraph in small print; an empty text is none."""
    return f"<p><small>{escape(text)}</small></p>" if text else ""


def _wrap_table(caption: str, content: str) -> str:
    # a caption inside the table would either break at the table's width or widen it beyond a phone's
    title = f'<p style="margin:0;font-weight:bold">{escape(caption)}</p>' if caption else ""
    label = f' aria-label="{escape(caption)}"' if caption else ""
    return f'{title}<div style="overflow-x:auto;margin-bottom:.5em"><table{label}>{content}</table></div>'
