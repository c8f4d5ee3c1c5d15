"""The web server of a survey: it serves the page, accepts reports and shows the results.

Accepts     only reports that the survey's operators can produce, under a ticket. Anything else is refused
            with a sentence, and nothing of it is stored.
Stores      only what `report_store` lists: no access log, no cookie, no address. A failure is logged once
            until it is over, not once per request.
Page        may run this server's script and no other, and cannot submit a form: an answer could leave it only
            through that script.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from discreet.accounting.belief_sentences import describe_survey_belief
from discreet.belief import highest_posterior
from discreet.belief.wording import format_count, format_percent, format_percent_up
from discreet.core.errors import RequestError
from discreet.core.number_checks import DEFAULT_CONFIDENCE
from discreet.http.host_names import (
    CrossOriginError,
    MisdirectedRequestError,
    normalize_host_names,
    require_own_host,
)
from discreet.local.report_formats import BitFormat
from discreet.rendering.estimate_view import figures_to_json
from discreet.rendering.terminal import Console
from discreet.services.collect.collect_requests import SurveyRequest
from discreet.services.collect.estimate import EstimateResult
from discreet.services.collect.report_files import ReportDescription
from discreet.services.collect.report_store import ReportStore
from discreet.services.collect.surveys import BatchedResults, Survey, load_survey
from discreet.services.network_addresses import is_loopback, open_listening_socket, parse_address

MAX_BODY_BYTES = 1 << 16
SUBMISSION_KEYS = {"survey", "ticket", "reports"}
REFRESH_SECONDS = 20
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
STORE_UNAVAILABLE = (
    "The server cannot store reports now. Send the same reports again later: they are not drawn anew."
)
TICKET_CONFLICT = "The server already has other reports under this ticket, and did not store these."
STATIC = {
    "/": ("page.html", "text/html"),
    "/survey.js": ("survey.js", "text/javascript"),
    "/survey.css": ("survey.css", "text/css"),
}


class FailureLog:
    """A log of the first failure and not of every request, so that it does not record activity."""

    def __init__(self) -> None:
        self._last_reason = ""

    def record(self, error: Exception) -> None:
        """Print a failure, unless the last one printed was the same."""
        reason = getattr(error, "strerror", None) or f"an internal error, {type(error).__name__}"
        if reason != self._last_reason:
            text = f"discreet: Requests cannot be answered: {reason}."
            Console(stderr=True, soft_wrap=True).print(text, highlight=False, markup=False)
        self._last_reason = reason

    def clear(self) -> None:
        """Have the next failure printed again."""
        self._last_reason = ""


def create_app(survey: Survey, store: ReportStore, names: Sequence[str] = ()) -> FastAPI:
    """Return the application of a survey; `names` are the host's names, besides its addresses."""
    app, trouble = FastAPI(openapi_url=None, docs_url=None, redoc_url=None), FailureLog()
    shown = BatchedResults(store, survey.id, survey.batch)

    @app.middleware("http")
    async def guard_request(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        try:
            require_own_host(request.headers.raw, names, (request.scope.get("server") or ("",))[0])
            response = await call_next(request)
        except (MisdirectedRequestError, CrossOriginError) as error:
            status = 421 if isinstance(error, MisdirectedRequestError) else 403
            response = JSONResponse({"error": error.message, "hint": error.hint}, status)
        except ClientDisconnect:
            response = Response(status_code=400)  # the client is gone
        except Exception as error:
            trouble.record(error)
            response = JSONResponse({"error": "The server cannot answer now. Try again later."}, 500)
        response.headers.update(HEADERS)
        return response

    for path, (name, kind) in STATIC.items():
        app.get(path)(_make_static_route(name, kind))

    @app.get("/survey.json")
    def get_survey() -> JSONResponse:
        return JSONResponse(survey.to_public_json())

    @app.get("/results")
    def get_results_page() -> HTMLResponse:
        return HTMLResponse(render_results_page(survey, shown.estimate(DEFAULT_CONFIDENCE)))

    @app.get("/results.json")
    def get_results() -> JSONResponse:
        found = shown.estimate(DEFAULT_CONFIDENCE)
        parts = [{"question": each.description.column} | figures_to_json(each) for each in found]
        clients = found[0].estimate.clients if found else 0
        return JSONResponse({"clients": clients, "batch": survey.batch, "questions": parts})

    @app.post("/reports")
    async def post_reports(request: Request) -> JSONResponse:
        try:
            sent = parse_submission(survey, await _read_body(request))
        except RequestError as error:
            return JSONResponse({"error": error.message}, status_code=400)
        try:
            same = await run_in_threadpool(store.add, sent.ticket, sent.reports)
            await run_in_threadpool(shown.refresh)
        except OSError as error:
            trouble.record(error)
            return JSONResponse({"error": STORE_UNAVAILABLE}, status_code=503)
        trouble.clear()
        return JSONResponse(
            {"kept": True} if same else {"error": TICKET_CONFLICT}, status_code=200 if same else 409
        )

    return app


def serve_survey(request: SurveyRequest, *, as_json: bool = False) -> None:
    """Serve a survey until it is stopped."""
    survey, host = load_survey(request.file), request.host
    known = normalize_host_names([*request.names, *((host,) if parse_address(host) is None else ())])
    with (
        open_listening_socket(host, request.port) as bound,
        ReportStore.open_or_create(survey.store, survey.id, survey.descriptions) as store,
    ):
        _announce_survey(survey, host, bound.getsockname()[1], as_json=as_json)
        server = uvicorn.Server(make_server_config(create_app(survey, store, known)))
        with suppress(KeyboardInterrupt):
            server.run(sockets=[bound])


def make_server_config(app: FastAPI) -> uvicorn.Config:
    """Return a configuration without an access log, and without trust in proxy headers."""
    return uvicorn.Config(
        app,
        access_log=False,
        log_level="error",
        log_config=None,  # uvicorn's own closes the handlers that others of this process log with
        server_header=False,
        proxy_headers=False,
        ws="none",
    )


def _announce_survey(survey: Survey, host: str, port: int, *, as_json: bool) -> None:
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    prior, posterior = survey.promise.prior, highest_posterior(survey.promise.prior, survey.epsilon)
    if as_json:
        questions = [{"name": each.name, "epsilon": each.operator.epsilon} for each in survey.questions]
        belief = {"prior": prior, "posterior": posterior}
        facts = {"url": url, "store": str(survey.store), "questions": questions, "belief": belief}
        print(json.dumps(facts), flush=True)
    else:
        console = Console(soft_wrap=True)
        places = f"survey   {url}\nresults  {url}results\nstore    {survey.store}"
        console.print(places, highlight=False, markup=False)
        console.print(
            f"belief   from all that one person sends, {format_percent(prior)} becomes at most "
            f"{format_percent_up(posterior)}",
            highlight=False,
        )
    if not is_loopback(host):
        Console(stderr=True, soft_wrap=True).print(
            "discreet: Others can reach this address. Put HTTPS in front of it: without it, the page can be "
            "changed on its way and made to send the truth. Give the name that respondents use with --name.",
            highlight=False,
        )


def _make_static_route(name: str, kind: str) -> Callable[[], Response]:
    content = files("discreet.http.survey").joinpath(name).read_bytes()
    return lambda: Response(content, media_type=kind)


async def _read_body(request: Request) -> bytes:
    """Return the body of a JSON request.

    The content type is required, as a page of another site cannot send it without a CORS preflight, which is
    not answered.
    """
    if request.headers.get("content-type") != "application/json":
        raise RequestError("Reports must be JSON.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise RequestError("The reports are too long.")
    return body


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A ticket, and for each question the codes of the answers in its report."""

    ticket: bytes
    reports: tuple[tuple[int, ...], ...]


def parse_submission(survey: Survey, body: bytes) -> Submission:
    """Return a submission that this survey's operators can produce, or raise."""
    sent = _parse_object(body)
    _require_valid(
        sent["survey"] == survey.id, "The survey has changed since this page was opened. Reload it."
    )
    ticket, reports = sent["ticket"], sent["reports"]
    whole = isinstance(ticket, str) and re.fullmatch("[0-9a-f]{32}", ticket) is not None
    _require_valid(whole, "A ticket must be 32 hexadecimal digits.")
    listed = isinstance(reports, list) and len(reports) == len(survey.questions)
    _require_valid(listed, "Reports must be one list for each question.")
    pairs = zip(survey.descriptions, reports, strict=True)
    return Submission(
        ticket=bytes.fromhex(ticket), reports=tuple(_parse_codes(each, codes) for each, codes in pairs)
    )


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        sent = None
    _require_valid(isinstance(sent, dict), "Reports must be JSON.")
    _require_valid(
        set(sent) == SUBMISSION_KEYS,
        "The JSON object must have survey, ticket and reports, and nothing else.",
    )
    found: dict[str, Any] = sent
    return found


def _parse_codes(description: ReportDescription, given: Any) -> tuple[int, ...]:
    form = description.operator.report_format
    assert isinstance(form, BitFormat)
    codes = given if isinstance(given, list) else []
    # not isinstance: true and false are integers to Python, and no codes
    whole = all(type(code) is int and 0 <= code < form.width for code in codes)
    fits = whole and len(codes) == len(set(codes)) == form.ones
    _require_valid(fits, "Some reports cannot come from this survey's operators.")
    return tuple(codes)


def _require_valid(holds: bool, sentence: str) -> None:
    if not holds:
        raise RequestError(sentence)


def render_results_page(survey: Survey, found: Sequence[EstimateResult]) -> str:
    """Return the page of estimates with error bars; there are none before the first batch."""
    results = [
        (question, each, each.list_rows())
        for question, each in zip(survey.questions if found else (), found, strict=True)
    ]
    summary = (
        _summarize_results(survey, found) if found else f"Results appear after {survey.batch:,} reports."
    )
    return _load_results_template().render(
        survey=survey, results=results, summary=summary, refresh_seconds=REFRESH_SECONDS
    )


@cache
def _load_results_template() -> jinja2.Template:
    text = files("discreet.http.survey").joinpath("results.html").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(text)


def _summarize_results(survey: Survey, found: Sequence[EstimateResult]) -> str:
    clients, prior = found[0].estimate.clients, survey.promise.prior
    belief = describe_survey_belief(prior, highest_posterior(prior, survey.epsilon))
    return (
        f"Estimated from {format_count(clients, 'randomized report', 'randomized reports')}; the page "
        f"changes after {survey.batch:,} more. Lines are {format_percent(found[0].confidence)} intervals. "
        f"{belief}"
    )
