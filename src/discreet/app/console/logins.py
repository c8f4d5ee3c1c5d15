"""The pages of login, password change and logout, and the static files of all pages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from discreet.app.console.rendering import STATIC, ElsewhereError, Page, static, visited
from discreet.app.http.entering import COOKIE
from discreet.app.http.errors import MissingError
from discreet.app.http.logins import admitted, changed, place_of, set_cookie
from discreet.core.errors import RequestError

router = APIRouter(include_in_schema=False)
Visited = Annotated[Page, Depends(visited)]


def elsewhere(location: str) -> RedirectResponse:
    return RedirectResponse(location, 303)


@router.get("/")
def home(page: Visited) -> Response:
    return elsewhere("/promise" if page.caller is not None else "/login")


@router.get("/static/{name}")
def file(name: str) -> Response:
    if name not in STATIC:
        raise MissingError("There is no such file.")
    return Response(static(name), media_type=STATIC[name])


@router.get("/login")
def login(page: Visited, ended: bool = False) -> Response:
    return page.shown("login.html", {"ended": ended})


@router.post("/login")
async def log_in(page: Visited) -> Response:
    fields, door = await page.form(), page.door
    name, password = fields.get("name", "")[:200], fields.get("password", "")[:200]
    try:
        user = await run_in_threadpool(admitted, door, name, password, place_of(page.request))
    except RequestError as error:
        return page.refused("login.html", error, {"ended": False})
    response = elsewhere("/password" if user.once else "/promise")
    set_cookie(response, door, door.sessions.open(user)[1])
    return response


@router.get("/password")
def password(page: Visited) -> Response:
    if page.caller is None:
        raise ElsewhereError("/login")
    return page.shown("password.html")


@router.post("/password")
async def choose(page: Visited) -> Response:
    if page.caller is None:
        raise ElsewhereError("/login")
    fields, place = await page.form(), place_of(page.request)
    old, new = fields.get("old", "")[:200], fields.get("new", "")[:400]
    try:
        _, text = await run_in_threadpool(changed, page.door, page.caller, old, new, place)
    except RequestError as error:
        return page.refused("password.html", error)
    response = elsewhere("/promise")
    set_cookie(response, page.door, text)
    return response


@router.post("/logout")
async def log_out(page: Visited) -> Response:
    await page.form()
    if page.caller is not None:
        page.door.sessions.end(page.caller.own)
    response = elsewhere("/login")
    response.delete_cookie(COOKIE, path="/", secure=page.door.secure, httponly=True, samesite="strict")
    return response
