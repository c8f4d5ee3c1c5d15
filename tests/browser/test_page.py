"""The survey's page in a real browser: what leaves it, what stays in it, and who can use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.services.surveys import TWO_ANSWERS, Served, served, write_survey
from tests.services.test_survey import message

SEND, KEPT = "Randomize and send", "The server keeps these reports"
COINS = """
crypto.getRandomValues = (array) =>
  array.fill(array instanceof BigUint64Array ? BigInt("%s") : array instanceof Uint8Array ? 7 : 0xffffffff);
"""
FIRST, LAST = "0", str(2**64 - 1)


@contextmanager
def opened(browser: Browser, url: str, coins: str | None = None, **options: Any) -> Iterator[Page]:
    """A page in a profile of its own; `coins` is the 64-bit word that decides whether the answer is sent."""
    context = browser.new_context(**options)
    if coins is not None:
        context.add_init_script(COINS % coins)
    page = context.new_page()
    page.goto(url)
    yield page
    context.close()


def answer(page: Page, *labels: str) -> None:
    for label in labels:
        page.get_by_label(label, exact=True).check()
    page.get_by_role("button", name=SEND).click()
    page.get_by_text(KEPT).wait_for()


def traffic(page: Page) -> list[dict[str, Any]]:
    """Everything that a page asks for from now on: method, address, headers, body."""
    seen: list[dict[str, Any]] = []

    def note(sent: Request) -> None:
        entry: dict[str, Any] = {"method": sent.method, "url": sent.url, "body": sent.post_data}
        seen.append(entry)  # in the order of requests: headers are waited for, and others come meanwhile
        entry["headers"] = sent.all_headers()

    page.on("request", note)
    return seen


def stored(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.evaluate("() => ({...localStorage})")
    return found


@pytest.fixture
def vote(tmp_path: Path) -> Iterator[Served]:
    with served(write_survey(tmp_path, TWO_ANSWERS)) as found:
        yield found


def test_the_truth_is_in_no_request(browser: Browser, vote: Served) -> None:
    """Two people with different answers whose coins give them the same report: not a byte differs.

    Not in an address, a header or a body; nor in what the browser keeps, nor in what the page shows.
    """
    seen = []
    for label, coins in (("Yes I did", FIRST), ("No I did not", LAST)):
        with opened(browser, vote.url, coins) as page:
            requests = traffic(page)
            page.reload()
            answer(page, label)
            seen.append((requests, stored(page), page.locator("main").inner_html()))
    assert seen[0] == seen[1]
    assert [request["method"] for request in seen[0][0]].count("POST") == 1
    assert '"reports":[[0]]' in str(seen[0][0])


def test_that_check_would_notice_an_answer_in_a_request(browser: Browser, vote: Served) -> None:
    """A broken twin: a page whose script puts the answer into a cookie, which goes with the next request."""
    leaking = "FormData.prototype.get = ((get) => function (name) { const found = get.call(this, name);"
    leaking += " document.cookie = `answer=${found}`; return found; })(FormData.prototype.get);"
    seen = []
    for label, coins in (("Yes I did", FIRST), ("No I did not", LAST)):
        with opened(browser, vote.url, coins) as page:
            page.add_init_script(leaking)
            requests = traffic(page)
            page.reload()
            answer(page, label)
            page.goto(vote.url + "results")
            seen.append(requests)
    assert seen[0] != seen[1]


def test_no_label_of_an_answer_is_ever_sent(browser: Browser, survey: Served) -> None:
    with opened(browser, survey.url) as page:
        requests = traffic(page)
        page.reload()
        answer(page, "Sometimes", "Depression")
        assert not any(word in str(requests) for word in ("Sometimes", "Depression", "Nothing", "smoking"))
        assert all(request["url"].startswith(survey.url) for request in requests)


def test_nothing_is_kept_but_reports(browser: Browser, survey: Served) -> None:
    with opened(browser, survey.url) as page:
        answer(page, "Sometimes", "Depression")
        assert page.context.cookies() == []
        expect(page.locator("input")).to_have_count(0)
        assert list(stored(page)) == [f"discreet {survey.survey.id}"]
    assert survey.kept == 1


def test_sending_again_sends_the_same_and_is_counted_once(browser: Browser, survey: Served) -> None:
    with opened(browser, survey.url) as page:
        requests = traffic(page)
        answer(page, "Never", "Flu")
        page.reload()
        page.get_by_text("They stay the same").wait_for()
        page.get_by_role("button", name="Send the same again").click()
        page.get_by_text(KEPT).wait_for()
        bodies = [request["body"] for request in requests if request["method"] == "POST"]
    assert len(bodies) == 2
    assert bodies[0] == bodies[1]
    assert survey.kept == 1


def test_a_second_tab_sends_what_the_first_has_drawn(browser: Browser, survey: Served) -> None:
    with opened(browser, survey.url) as page:
        second = page.context.new_page()
        second.goto(survey.url)
        second.get_by_role("button", name=SEND).wait_for()
        requests = [*map(traffic, (page, second))]
        answer(page, "Never", "Flu")
        answer(second, "Every day", "Cancer")
        bodies = [request["body"] for seen in requests for request in seen if request["method"] == "POST"]
    assert bodies[0] == bodies[1]
    assert survey.kept == 1


def test_a_browser_that_keeps_nothing_is_asked_to_answer_once(browser: Browser, survey: Served) -> None:
    with opened(browser, survey.url) as page:
        page.add_init_script("Storage.prototype.setItem = () => { throw new Error('no storage'); };")
        page.reload()
        answer(page, "Never", "Flu")
        assert "please do not answer a second time" in page.locator("#state").inner_text()


def test_a_send_that_failed_is_repeated_without_new_coins(browser: Browser, survey: Served) -> None:
    with opened(browser, survey.url) as page:
        page.route("**/reports", lambda route: route.abort())
        page.get_by_label("Never", exact=True).check()
        page.get_by_label("Flu", exact=True).check()
        page.get_by_role("button", name=SEND).click()
        page.get_by_text("nothing is drawn anew").wait_for()
        kept = stored(page)
        page.unroute("**/reports")
        page.get_by_role("button", name="Send the same again").click()
        page.get_by_text(KEPT).wait_for()
        assert stored(page) == kept
    assert survey.kept == 1


def test_who_looks_at_another_browser_draws_anew(browser: Browser, survey: Served) -> None:
    """What permanent reports do not stop, and what the page says of it."""
    for _ in range(2):
        with opened(browser, survey.url) as page:
            answer(page, "Never", "Flu")
    assert survey.kept == 2


def test_the_respondent_is_shown_what_was_sent_and_what_it_reveals(browser: Browser, vote: Served) -> None:
    with opened(browser, vote.url, LAST) as page:
        answer(page, "Yes I did")
        expect(page.locator(".chips .sent")).to_have_text(["sent: No I did not"])
        shown = page.locator("#sent").inner_text()
    assert "with a probability of 83.9%" in shown
    assert "at most 1% sure of a claim about you can now be at most 5% sure" in shown


@pytest.mark.parametrize(
    "broken",
    [
        {"threshold": str(2**64)},
        {"threshold": str(2**64 - 1)},
        {"threshold": "0"},
        {"threshold": "1"},
        {"threshold": "-1"},
        {"threshold": 2**63},
        {"threshold": "1e3"},
        {"size": 2},
        {"size": 0},
        {"values": ["Yes I did"]},
        {"values": [f"answer {number}" for number in range(40)]},
        {},
    ],
    ids=str,
)
def test_a_law_that_breaks_the_promise_is_refused_before_anything_is_asked(
    browser: Browser, vote: Served, broken: dict[str, Any]
) -> None:
    """What the page says of a law is computed from the law that it was handed, not believed."""
    told = vote.survey.to_public_json()
    told["questions"][0] |= broken
    if not broken:
        told["promise"]["posterior"] = "0.04"
    with opened(browser, vote.url) as page:
        page.route("**/survey.json", lambda route: route.fulfill(json=told))
        requests = traffic(page)
        page.reload()
        page.get_by_role("alert").get_by_text("would break its promise").wait_for()
        expect(page.locator("form, input")).to_have_count(0)
        assert not page.locator("button").first.is_visible()
        assert not [request for request in requests if request["method"] == "POST"]
    assert vote.kept == 0


def test_a_law_that_changes_after_the_page_was_opened_is_refused_before_it_is_drawn_from(
    browser: Browser, vote: Served
) -> None:
    """Another script of the page, or an extension, that touches the law in between."""
    touched = "Response.prototype.json = ((json) => async function () { const found = await json.call(this);"
    touched += " return (window.told = found); })(Response.prototype.json);"
    with opened(browser, vote.url) as page:
        page.add_init_script(touched)
        page.reload()
        page.get_by_label("Yes I did", exact=True).check()
        page.evaluate("() => { window.told.questions[0].threshold = String(2n ** 64n - 1n); }")
        page.get_by_role("button", name=SEND).click()
        page.get_by_role("alert").get_by_text("would break its promise").wait_for()
        assert "to 100%" in page.get_by_role("alert").inner_text()
        assert stored(page) == {}
    assert vote.kept == 0


def test_without_a_script_nothing_can_be_sent(browser: Browser, survey: Served) -> None:
    with opened(browser, survey.url, java_script_enabled=False) as page:
        expect(page.locator("input")).to_have_count(0)
        assert not page.locator("button").first.is_visible()
        assert page.get_by_text("Until the script runs, nothing can be sent").is_visible()


def test_the_page_works_with_the_keyboard_alone(browser: Browser, survey: Served) -> None:
    with opened(browser, survey.url) as page:
        page.get_by_role("button", name=SEND).wait_for()
        for keys in ("Tab", "Space", "Tab", "ArrowDown", "Tab", "Enter"):
            page.keyboard.press(keys)
        page.get_by_text(KEPT).wait_for()
        page.wait_for_function("() => document.activeElement.id == 'sent'")


def test_nothing_is_sent_while_a_question_is_open(browser: Browser, survey: Served) -> None:
    with opened(browser, survey.url) as page:
        requests = traffic(page)
        page.get_by_label("Never", exact=True).check()
        page.get_by_role("button", name=SEND).click()
        assert page.get_by_role("button", name=SEND).is_visible()
        assert requests == []


@pytest.mark.parametrize("path", ["", "results"])
def test_the_page_fits_a_narrow_phone(browser: Browser, survey: Served, path: str) -> None:
    with opened(browser, survey.url, viewport={"width": 320, "height": 640}) as page:
        answer(page, "Never", "Flu")
        page.goto(survey.url + path)
        page.get_by_text("They stay the same" if path == "" else "Results appear after").wait_for()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 320


def test_the_results_show_estimates_with_error_bars(browser: Browser, survey: Served) -> None:
    for number in range(19):
        survey.post(message(survey, ticket=f"{number:032x}"))
    with opened(browser, survey.url) as page:
        page.goto(survey.url + "results")
        expect(page.locator(".whisker")).to_have_count(0)
        page.goto(survey.url)
        answer(page, "Never", "Flu")
        page.goto(survey.url + "results")
        expect(page.locator(".whisker")).to_have_count(10)
        assert page.locator("tbody tr").first.inner_text().startswith("Never")


def test_a_script_of_another_site_is_not_run(browser: Browser, survey: Served) -> None:
    with opened(browser, survey.url) as page:
        page.get_by_role("button", name=SEND).wait_for()
        refused = page.evaluate(
            """() => new Promise((told) => {
              document.addEventListener("securitypolicyviolation", (event) => told(event.effectiveDirective));
              document.head.append(Object.assign(document.createElement("script"), {src: "https://example.com/x.js"}));
            })"""
        )
    assert refused == "script-src-elem"
