"""The results page of a survey: estimates with error bars, rendered without a script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from discreet.belief import highest_posterior
from discreet.belief.wording import format_percent, format_percent_up
from discreet.rendering.estimate_view import list_estimate_rows
from discreet.services.collect.estimate import EstimateResult
from discreet.services.collect.surveys import Question, Survey

WIDTH, HEIGHT = 200, 22
REFRESH_SECONDS = 20


def render_results_page(survey: Survey, found: Sequence[EstimateResult]) -> str:
    """Return the page as HTML; there are no estimates before the first batch."""
    parts = [
        _render_question(question, each)
        for question, each in zip(survey.questions if found else (), found, strict=True)
    ]
    said = _summarize_results(survey, found) if found else f"Results appear after {survey.batch:,} reports."
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="refresh" content="{REFRESH_SECONDS}">'
        f"<title>{escape(survey.title)}: results so far</title>"
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="survey.css"></head>\n'
        f"<body><main><h1>{escape(survey.title)}: results so far</h1><p>{escape(said)}</p>\n{''.join(parts)}"
        '<p><a href="./">To the questions</a></p></main></body></html>\n'
    )


def _summarize_results(survey: Survey, found: Sequence[EstimateResult]) -> str:
    clients, prior = found[0].estimate.clients, survey.promise.prior
    reached = format_percent_up(highest_posterior(prior, survey.epsilon))
    return (
        f"Estimated from {clients:,} randomized {'report' if clients == 1 else 'reports'}; nobody's answer "
        f"is here. They change after {survey.batch:,} more reports. Lines are "
        f"{format_percent(found[0].confidence)} intervals. From all that one person sent, a claim "
        "about that person "
        f"goes from {format_percent(prior)} to at most {reached}."
    )


def _render_question(question: Question, found: EstimateResult) -> str:
    body = "".join(
        _render_row(str(row["value"]), *(float(row[end]) for end in ("share", "low", "high")))
        for row in list_estimate_rows(found)
    )
    return (
        f'<section class="card"><h2>{escape(question.text)}</h2><table class="bars"><thead><tr>'
        '<th scope="col">Answer</th><th scope="col"><span class="hidden">Picture</span></th>'
        f'<th scope="col">Share</th></tr></thead><tbody>{body}</tbody></table>'
        f"{_render_warnings(found)}</section>\n"
    )


def _render_warnings(found: EstimateResult) -> str:
    """Return a warning for each figure that chance does not explain."""
    return "".join(f'<p class="small" role="note">{escape(each)}</p>' for each in found.warnings)


def _render_row(value: str, share: float, low: float, high: float) -> str:
    x = [f"{WIDTH * each:.1f}" for each in (share, low, high)]
    ends = f"M{x[1]} 6V{HEIGHT - 6}M{x[2]} 6V{HEIGHT - 6}"
    picture = (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="{WIDTH}" height="{HEIGHT}" rx="3"/>'
        f'<rect class="bar" width="{x[0]}" height="{HEIGHT}" rx="3"/>'
        f'<path class="whisker" d="M{x[1]} {HEIGHT // 2}H{x[2]}{ends}"/></svg>'
    )
    numbers = f"{share:.1%} <small>{low:.1%} to {high:.1%}</small>"
    return f'<tr><th scope="row">{escape(value)}</th><td>{picture}</td><td class="number">{numbers}</td></tr>'
