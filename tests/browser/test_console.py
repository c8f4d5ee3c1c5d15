"""The console in a real browser: a login, the screens, a question asked and charged, one refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from discreet.accounting.amounts import get_amount
from discreet.http.csrf import CSRF_HEADER
from discreet.services.users import Role
from tests.http.served import Server, both_listeners
from tests.pgwire.served import PASSWORD, write_data

GROUPED = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    write_data(tmp_path)
    with both_listeners(tmp_path) as running:
        yield running


@contextmanager
def entered(browser: Browser, server: Server, user: str = "alice", **options: Any) -> Iterator[Page]:
    """A page of somebody who has logged in; it ends with no violation of its policy and no error."""
    context = browser.new_context(**options)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(server.url)
    page.get_by_label("Name").fill(user)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", level=1, name="What is promised").wait_for()
    yield page
    context.close()
    assert [each for each in problems if "status of 4" not in each] == []


def asked(page: Page, sql: str, button: str, amount: str = "0.2") -> None:
    with page.expect_navigation():  # the page may have had the same fields before
        page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_label("A question, as SQL").fill(sql)
    page.get_by_label("Amount").fill(amount)
    page.get_by_role("button", name=button).click()


def test_a_wrong_password_is_said_and_strangers_are_sent_to_the_login(
    browser: Browser, server: Server
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/ask")
    assert page.url.endswith("/login")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill("a wrong one")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").get_by_text("Name or password is wrong").wait_for()
    context.close()


def test_a_session_can_be_ended_and_its_cookie_is_no_scripts(browser: Browser, server: Server) -> None:
    with entered(browser, server) as page:
        (cookie,) = page.context.cookies()
        assert cookie["httpOnly"] is True
        assert cookie["sameSite"] == "Strict"
        assert page.evaluate("() => document.cookie") == ""
        page.get_by_role("button", name="Log out").click()
        page.get_by_role("heading", name="Log in").wait_for()
        page.goto(f"{server.url}/ask")
        assert page.url.endswith("/login")


def test_a_session_that_has_ended_is_said_to_have(browser: Browser, server: Server) -> None:
    with entered(browser, server) as page:
        page.goto(f"{server.url}/ask")
        server.users.change_password("alice", "another password")
        page.get_by_label("A question, as SQL").fill(GROUPED)
        page.get_by_role("button", name="Plan").click()
        page.get_by_text("Your session has ended").wait_for()
    assert server.charges() == 0


def test_where_there_is_no_page_a_browser_is_shown_one_and_a_program_an_object(
    browser: Browser, server: Server
) -> None:
    with entered(browser, server) as page:
        for path, said in (
            ("/nowhere", "There is nothing at this address"),
            ("/attack", "This page is for custodians"),
            ("/promise?prior=many", "prior"),
        ):
            page.goto(server.url + path)
            page.get_by_role("alert").get_by_text(said).wait_for()
            expect(page.get_by_role("link", name="Ledger")).to_have_count(1)
            with server.client() as client:
                assert said in client.get(path).json()["error"]


def test_a_token_is_made_shown_once_and_taken_back(browser: Browser, server: Server) -> None:
    def reads(token: str) -> int:
        with server.client(None) as client:
            return client.get("/api/ledger", headers={"Authorization": f"Bearer {token}"}).status_code

    with entered(browser, server) as page:
        page.get_by_role("link", name="alice analyst").click()
        page.get_by_label("What it is for").fill("notebook")
        page.get_by_role("button", name="Create a token").click()
        token = page.locator("#found pre").inner_text()
        assert reads(token) == 200
        page.goto(f"{server.url}/account")
        assert token not in page.content()
        page.get_by_role("button", name="Revoke notebook").click()
        page.get_by_text("There are none").wait_for()
        assert reads(token) == 401
        page.get_by_role("link", name="Change it").click()
        page.get_by_role("heading", name="Choose a password").wait_for()


def test_who_asks_in_nobodys_name_is_told_so_before_asking(browser: Browser, server: Server) -> None:
    for user, said in (("audrey", "An auditor reads"), ("carl", "is linked to no analyst")):
        with entered(browser, server, user) as page:
            page.get_by_role("link", name="Ask", exact=True).click()
            page.get_by_text(said).wait_for()
            expect(page.get_by_role("button", name="Ask")).to_have_count(0)


def test_an_analyst_sees_a_staircase_of_the_own_answers_alone(server: Server) -> None:
    def staircase() -> str:
        with server.client("alice") as client:
            return client.get("/ledger").text.partition("<svg")[2].partition("</svg>")[0]

    before = staircase()
    server.curators.for_analyst("bob").ask(GROUPED, epsilon=0.1)
    assert staircase() == before != ""
    server.curators.for_analyst("alice").ask(GROUPED, epsilon=0.1)
    assert staircase() != before


def test_the_ledger_says_once_what_may_be_believed_and_no_more_is_left_than_is(server: Server) -> None:
    server.curators.for_analyst("bob").ask("SELECT COUNT(*) FROM people", epsilon=0.0123457)
    with server.client("bob") as client:
        page = client.get("/ledger").text
    spent, left = map(float, re.findall(r'<td class="number">([0-9.]+)</td>', page)[:2])
    account = server.curators.ledger.get_account("bob")
    assert spent >= get_amount(account.spent)
    assert 0 < left <= get_amount(account.left)
    assert page.count("can now be at most") == 1


def test_a_printed_password_leads_to_the_choice_of_another(browser: Browser, server: Server) -> None:
    first = server.users.add("carol", Role.CUSTODIAN, None, must_change_password=True)
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.url)
    page.get_by_label("Name").fill("carol")
    page.get_by_label("Password").fill(first)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Choose a password").wait_for()
    page.goto(f"{server.url}/ledger")
    assert page.url.endswith("/password")
    page.get_by_label("Old password").fill(first)
    page.get_by_label("New password").fill("another password")
    page.get_by_role("button", name="Change the password").click()
    page.get_by_role("heading", name="What is promised").wait_for()
    context.close()


def test_the_promise_moves_with_its_sliders(browser: Browser, server: Server) -> None:
    with entered(browser, server) as page:
        expect(page.locator("#before .suspect[opacity='1.00']")).to_have_count(1)
        expect(page.locator("#after .suspect[opacity='1.00']")).to_have_count(5)
        assert "1% beforehand" in page.locator(".sentence").inner_text()
        page.wait_for_load_state()  # an event before the script runs would move nothing
        slider = page.get_by_label("and may believe at most")
        slider.evaluate("node => { node.value = 10; node.dispatchEvent(new Event('input')); }")
        expect(page.locator("#after .suspect[opacity='1']")).to_have_count(10)
        slider.evaluate("node => node.dispatchEvent(new Event('change', {bubbles: true}))")
        page.get_by_text("more than 10%").wait_for()
        page.wait_for_load_state()  # of the new page
        page.get_by_label("who is in the data at all").check()
        page.get_by_text("about whether one person is in the data").first.wait_for()
        assert "posterior=10" in page.url


def test_a_slider_that_is_moved_by_keys_keeps_the_focus(browser: Browser, server: Server) -> None:
    with entered(browser, server) as page:
        page.wait_for_load_state()  # a key before the script runs would move nothing
        page.get_by_label("and may believe at most").focus()
        page.keyboard.press("ArrowRight")
        page.get_by_text("more than 5.1%").wait_for()
        page.wait_for_function("() => document.activeElement.id === 'posterior'")


def test_a_question_is_planned_tried_and_asked_and_charged_once(browser: Browser, server: Server) -> None:
    with entered(browser, server) as page:
        asked(page, GROUPED, "Plan")
        page.get_by_text("nothing was spent").wait_for()
        assert "± " in page.get_by_label("Plan", exact=True).inner_text()
        page.get_by_role("button", name="Try on made-up people").click()
        page.get_by_text("about made-up people").wait_for()
        assert server.charges() == 0
        page.get_by_role("button", name="Ask charged once").click()
        page.get_by_role("heading", name="Answer", exact=True).wait_for()
        expect(page.locator("#found tbody tr")).to_have_count(3)
        rows = page.locator("#found tbody tr").all_inner_texts()
        assert [row.split()[0] for row in rows] == ["Male", "Female", "Other"]
        assert all("±" in row for row in rows)
        expect(page.locator(".picture svg")).to_have_count(1)
        with page.expect_download() as download:
            page.get_by_role("button", name="csv").click()
        assert download.value.path().read_text().startswith('"sex","n","n.low","n.high"')
    assert server.charges() == 1


def test_a_refused_question_says_why_and_costs_nothing(browser: Browser, server: Server) -> None:
    with entered(browser, server) as page:
        asked(page, "SELECT town FROM people", "Ask charged once")
        page.get_by_role("alert").wait_for()
        assert page.get_by_label("A question, as SQL").input_value() == "SELECT town FROM people"
        asked(page, "SELECT COUNT(*) FROM people", "Ask charged once", "1")
        page.get_by_role("alert").get_by_text("left to alice").wait_for()
        assert "What would still fit: epsilon 0.8" in page.get_by_role("alert").inner_text()
    assert server.charges() == 0


def test_text_of_a_question_is_never_markup(browser: Browser, server: Server) -> None:
    odd = "SELECT '<img src=x onerror=alert(1)>' AS \"<b>x</b>\", COUNT(*) AS n FROM people"
    with entered(browser, server) as page:
        asked(page, odd, "Ask charged once")
        page.locator("#found, [role=alert]").first.wait_for()
        page.wait_for_load_state()
        expect(page.locator("main img, main b")).to_have_count(0)


def test_the_ledger_shows_entries_and_the_custodian_decides(browser: Browser, server: Server) -> None:
    with entered(browser, server) as page:
        asked(page, "SELECT COUNT(*) AS n FROM people", "Ask charged once")
        page.get_by_role("heading", name="Answer", exact=True).wait_for()
        page.get_by_role("link", name="Ledger").click()
        page.get_by_role("cell", name="SELECT COUNT(*) AS n FROM people").wait_for()
        page.get_by_label("Increase of the share").fill("10%")
        page.get_by_label("Reason").fill("regions")
        page.get_by_role("button", name="Send to the custodian").click()
        page.get_by_text("asked for 10% more: regions open").wait_for()
    with entered(browser, server, "carl") as page:
        page.get_by_role("link", name="Ledger").click()
        expect(page.locator(".picture svg")).to_have_count(1)
        page.get_by_role("combobox").select_option("bob")
        page.get_by_role("button", name="Grant").click()
        page.get_by_text("granted, out of bob's share").wait_for()
    assert float(server.curators.ledger.get_account("alice").share) == pytest.approx(0.6)


@pytest.mark.parametrize("path", ["/promise", "/ask", "/ledger", "/account"])
def test_every_screen_fits_a_phone(browser: Browser, server: Server, path: str) -> None:
    with entered(browser, server, viewport=NARROW) as page:
        page.goto(server.url + path)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= NARROW["width"]


def test_a_question_can_be_asked_by_keyboard_alone(browser: Browser, server: Server) -> None:
    with entered(browser, server) as page:
        page.goto(f"{server.url}/ask")
        page.get_by_label("A question, as SQL").focus()
        page.keyboard.type("SELECT COUNT(*) AS n FROM people")
        page.keyboard.press("Control+Enter")
        page.get_by_text("nothing was spent").wait_for()
        page.wait_for_function("() => document.activeElement.id == 'found'")


def test_true_values_are_shown_to_nobody_unless_the_policy_says_so(server: Server) -> None:
    server.users.add("cora", Role.CUSTODIAN, "alice", PASSWORD)
    with server.client("cora") as client:
        assert "True values" not in client.get("/ask").text
        fields = {"csrf": client.headers[CSRF_HEADER], "sql": GROUPED, "do": "ask", "beside": "on"}
        told = client.post("/ask", data=fields).text
    assert "Male" in told
    assert "true" not in told.partition("<table>")[2].partition("</table>")[0]


def test_a_form_of_another_site_is_not_taken(server: Server) -> None:
    with server.client() as client:
        told = client.post("/ask", data={"sql": "SELECT COUNT(*) FROM people", "do": "ask"})
        assert told.status_code == 403
    with server.client(None) as client:
        told = client.post(
            "/login",
            data={"name": "alice", "password": PASSWORD},
            headers={"sec-fetch-site": "cross-site"},
        )
        assert told.status_code == 403
        assert "set-cookie" not in told.headers
    assert server.charges() == 0
