"""The pages of login, password change and logout, and the static files of all pages."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from discreet.core.errors import RequestError
from discreet.http.authentication import (
    delete_session_cookie,
    get_client_address,
    set_session_cookie,
)
from discreet.http.console.page import (
    STATIC_MEDIA_TYPES,
    RedirectError,
    VisitorPage,
    read_static_file,
    redirect_to,
)
from discreet.http.http_errors import NotFoundError

router = APIRouter(include_in_schema=False)


@router.get("/")
def redirect_home(page: VisitorPage) -> Response:
    return redirect_to("/promise" if page.caller is not None else "/login")


@router.get("/static/{name}")
def get_static_file(name: str) -> Response:
    if name not in STATIC_MEDIA_TYPES:
        raise NotFoundError("There is no such file.")
    return Response(read_static_file(name), media_type=STATIC_MEDIA_TYPES[name])


@router.get("/login")
def show_login(page: VisitorPage, ended: bool = False) -> Response:
    return page.render("login.html", {"ended": ended})


@router.post("/login")
async def log_in(page: VisitorPage) -> Response:
    fields, context = await page.read_form(), page.context
    # cut off: hashing a password of any length would keep the server busy
    name, password = fields.get("name", "")[:200], fields.get("password", "")[:200]
    try:
        user = await run_in_threadpool(
            context.logins.authenticate_user, name, password, get_client_address(page.request)
        )
    except RequestError as error:
        return page.render_error("login.html", error, {"ended": False})
    response = redirect_to("/password" if user.must_change_password else "/promise")
    set_session_cookie(response, context, context.sessions.open(user)[1])
    return response


@router.get("/password")
def show_password(page: VisitorPage) -> Response:
    if page.caller is None:
        raise RedirectError("/login")
    return page.render("password.html")


@router.post("/password")
async def change_password(page: VisitorPage) -> Response:
    if page.caller is None:
        raise RedirectError("/login")
    fields, place = await page.read_form(), get_client_address(page.request)
    old, new = fields.get("old", "")[:200], fields.get("new", "")[:400]
    try:
        session = page.caller.required_session
        _, text = await run_in_threadpool(page.context.logins.change_password, session, old, new, place)
    except RequestError as error:
        return page.render_error("password.html", error)
    response = redirect_to("/promise")
    set_session_cookie(response, page.context, text)
    return response


@router.post("/logout")
async def log_out(page: VisitorPage) -> Response:
    await page.read_form()
    if page.caller is not None:
        page.context.sessions.end(page.caller.required_session)
    response = redirect_to("/login")
    delete_session_cookie(response, page.context)
    return response
