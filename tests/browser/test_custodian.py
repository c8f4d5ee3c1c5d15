"""Trade-off, attack, publish and true values in a real browser: light and dark, wide and on a phone."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from discreet.http.authentication import SESSION_COOKIE
from discreet.services.users import Role
from discreet.services.users.sessions import Sessions
from tests.http.served import Server, both_listeners
from tests.patience import PATIENCE as SECONDS
from tests.pgwire.served import PASSWORD
from tests.services import patients

NARROW = {"width": 390, "height": 844}
GROUPED = "SELECT disease, COUNT(*) AS n FROM patients GROUP BY disease"
CUSTODIAN = "cara"
PATIENCE = 1_000 * SECONDS
SCREENS = ("/promise", "/tradeoff", "/ask", "/ledger", "/bounds", "/attack", "/publish")
CONTRAST = """() => {
  const lightness = (colour) => {
    const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const card = document.querySelector(".card");
  const paper = lightness(getComputedStyle(card).backgroundColor);
  const texts = [...document.querySelectorAll(".picture svg text")].filter((each) => each.textContent.trim());
  return texts.map((text) => {
    const ink = lightness(getComputedStyle(text).fill);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  });
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("custodian")
    patients.write(folder)
    with both_listeners(folder) as running:
        running.users.add(CUSTODIAN, Role.CUSTODIAN, "alice", PASSWORD)
        yield running


@contextmanager
def entered(browser: Browser, server: Server, user: str = CUSTODIAN, **options: Any) -> Iterator[Page]:
    """A page of somebody who is logged in; it ends with no violation of its policy and no error."""
    found = server.users.find(user)
    assert found is not None
    context = browser.new_context(base_url=server.url, accept_downloads=True, **options)
    context.add_cookies(
        [{"name": SESSION_COOKIE, "value": Sessions(server.users.storage).open(found)[1], "url": server.url}]
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    problems: list[str] = []
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    assert [each for each in problems if "status of 4" not in each] == []


def attacked(page: Page) -> None:
    page.goto("/attack")
    page.get_by_label("id", exact=True).fill("67")
    page.get_by_role("button", name="Attack").click()
    page.locator("#found").wait_for()
    page.wait_for_load_state()  # all of it


def waited(client: httpx.Client, name: str) -> None:
    """Until a job is over."""
    until = time.monotonic() + PATIENCE / 1_000
    while client.get(f"/api/jobs/{name}").json()["state"] in ("waiting", "running"):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_moving_the_point_of_a_trade_off_moves_its_sentence_and_costs_nothing(
    browser: Browser, server: Server
) -> None:
    charged = server.charges()
    with entered(browser, server, "alice") as page:
        page.goto("/tradeoff")
        page.get_by_text("To promise at most 5% costs ±").wait_for()
        slider, point = page.get_by_label("An attacker may believe at most"), page.locator("#at-point")
        before = (page.locator("#said").inner_text(), point.get_attribute("cx"), point.get_attribute("cy"))
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        slider.focus()
        for _ in range(4):
            page.keyboard.press("ArrowLeft")
        there = page.locator("tr[data-said]").nth(int(slider.input_value()))
        expect(slider).to_have_attribute("aria-valuetext", there.get_attribute("data-cap") or "")
        after = (page.locator("#said").inner_text(), point.get_attribute("cx"), point.get_attribute("cy"))
        assert all(one != two for one, two in zip(before, after, strict=True))
        cap = slider.get_attribute("aria-valuetext")
        assert f"To promise at most {cap} costs" in after[0]
        assert float(after[1] or 0) < float(before[1] or 0)
        assert float(after[2] or 0) < float(before[2] or 0)
        assert asked == []
        page.get_by_label("A question, as SQL").fill("SELECT AVG(age) AS a FROM patients")
        page.get_by_role("button", name="Draw").click()
        page.get_by_role("alert").wait_for()
        page.get_by_label("Least rows per group").fill("100")
        page.get_by_role("button", name="Draw").click()
        page.get_by_text("in a.").first.wait_for()
    assert server.charges() == charged


def test_a_trade_off_needs_no_script(browser: Browser, server: Server) -> None:
    with entered(browser, server, "audrey", java_script_enabled=False) as page:
        page.goto("/tradeoff")
        own = page.locator("#said").inner_text()
        page.goto("/tradeoff?at=0&questions=10")
        assert "after 10 questions like this one" in page.locator("#said").inner_text() != own
        expect(page.locator("tr[aria-current=true]")).to_have_count(1)


def test_one_record_is_attacked_for_the_custodian_alone(browser: Browser, server: Server) -> None:
    charged = server.charges()
    with entered(browser, server) as page:
        with page.expect_response(lambda reply: reply.request.method == "POST") as sent:
            attacked(page)
        assert sent.value.headers["cache-control"] == "no-store"
        assert re.fullmatch(f"{server.url}/attack/work/[0-9a-f]{{32}}", page.url)  # which names nobody
        rows = [row.split("\t") for row in page.locator("#found tbody tr").all_inner_texts()]
        assert [row[0] for row in rows] == ["the table itself", "a 5-anonymous table", "a private answer"]
        assert rows[0][2] == "1% → 100%"
        assert float(rows[2][2].split("→ ")[1].rstrip("%")) <= 5
        assert "not for publication" in page.locator("#found").inner_text()
        assert "promised cap of 5%" in (page.locator("#found svg").text_content() or "")
    assert server.charges() == charged
    for user in ("alice", "audrey"):
        with server.client(user) as client:
            for path in ("/attack", "/publish", "/publish/1/table"):
                assert client.get(path).status_code == 403
                assert client.post(path).status_code in (403, 405)
            assert "/attack" not in client.get("/promise").text


def test_who_cannot_be_told_apart_is_not_attacked(browser: Browser, server: Server) -> None:
    with entered(browser, server) as page:
        page.goto("/attack")
        page.get_by_label("sex", exact=True).select_option("f")
        page.get_by_role("button", name="Attack").click()
        page.get_by_role("alert").get_by_text("Give values that single out one row").wait_for()
        assert page.get_by_label("sex", exact=True).input_value() == "f"


def test_a_table_is_tried_then_published_once_and_downloaded(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    ledger = server.curators.ledger
    earlier = len(ledger.list_releases())
    with entered(browser, server) as page:
        page.goto("/publish")
        page.get_by_text("Hierarchy of age as a tree").click()
        assert "[20, 29]" in page.locator(".tree").first.inner_text()
        page.get_by_label("k-anonymity: k").fill("6")
        page.get_by_role("button", name="Try").click()
        page.get_by_text("nothing was written").wait_for()
        assert len(ledger.list_releases()) == earlier
        assert page.get_by_label("k-anonymity: k").input_value() == "6"
        drawn = page.locator("input[name=drawn]").input_value()
        page.get_by_role("button", name="Publish").click()
        page.get_by_role("heading", name="Published", exact=True).wait_for()
        assert [each.name for each in ledger.list_releases()][earlier:] == ["patients.csv"]
        with page.expect_download() as download:
            page.get_by_role("link", name="Download the release").click()
        header, *rows = download.value.path().read_text().splitlines()
        assert header == "age,sex,zipcode,disease,stays"
        classes = Counter(tuple(row.rsplit(",", 2)[0].split('"')) for row in rows)
        assert min(classes.values()) >= 6
        assert len(rows) == patients.PEOPLE
        with page.expect_download() as download:
            page.locator("#found").get_by_role("link", name="Certificate").click()
        certificate = json.loads(download.value.path().read_text())
        assert certificate["models"][0]["name"] == "6-anonymity"
        page.locator("input[name=drawn]").evaluate("(node, drawn) => { node.value = drawn; }", drawn)
        made = page.url
        with page.expect_navigation():  # this page has that heading, too
            page.get_by_role("button", name="Publish").click()
        page.get_by_role("heading", name="Published", exact=True).wait_for()
        assert page.url == made
    assert len(ledger.list_releases()) == earlier + 1
    assert "patients.csv" in ledger.describe_belief()


def test_what_cannot_be_met_is_refused_with_the_nearest_that_can(browser: Browser, server: Server) -> None:
    folders, releases = set(server.folder.glob("*.releases/*")), server.curators.ledger.list_releases()
    with entered(browser, server) as page:
        page.goto("/publish")
        page.get_by_label("k-anonymity: k").fill("1000")
        page.get_by_role("button", name="Publish").click()
        said = page.get_by_role("alert").inner_text()
        assert "Nearest: instead of 1000-anonymity ask for at most 240" in said
    assert set(server.folder.glob("*.releases/*")) == folders
    assert server.curators.ledger.list_releases() == releases


def test_work_that_waits_is_shown_and_can_be_cancelled_by_whoever_has_no_script(
    browser: Browser, server: Server
) -> None:
    with (
        server.client(CUSTODIAN) as client,
        closing(sqlite3.connect(server.folder / "ledger.db", isolation_level=None)) as rival,
        entered(browser, server, java_script_enabled=False) as page,
    ):
        rival.execute("BEGIN IMMEDIATE")  # until it is over, nothing is entered in the ledger
        body = {"kind": "anonymize", "table": "patients", "k": 2}
        before = client.post("/api/jobs", json=body).json()["id"]
        page.goto("/attack")
        page.get_by_label("id", exact=True).fill("67")
        page.get_by_role("button", name="Attack").click()
        page.get_by_role("heading", name="Waiting for other work").wait_for()
        assert page.get_by_label("Progress of the job").get_attribute("value") == "0.00"
        here = page.url
        with page.expect_response(lambda reply: reply.request.method == "POST"):
            page.get_by_role("button", name="Cancel").click()
        page.get_by_role("heading", name="What an attacker believes").wait_for()
        page.goto(here)
        page.get_by_text("cancelled before it cost anything").wait_for()
        assert page.get_by_label("id", exact=True).input_value() == "67"
        rival.execute("ROLLBACK")
        waited(client, before)
    for user in ("alice", "audrey"):
        with server.client(user) as client:
            assert client.get(here).status_code == 403


def test_roles_and_hierarchies_are_chosen_but_who_people_are_never_leaves(
    browser: Browser, server: Server
) -> None:
    with entered(browser, server) as page:
        page.goto("/publish")
        assert page.get_by_label("Role of id").locator("option").all_inner_texts() == ["identifier"]
        page.get_by_label("Role of sex").select_option("identifier")
        page.get_by_label("Hierarchy of age", exact=True).select_option("decades")
        page.get_by_role("button", name="Try").click()
        page.get_by_text("nothing was written").wait_for()
        page.wait_for_load_state()  # all of it
        shown = page.locator("#found").inner_text()
        assert "id, sex" in shown
        assert page.get_by_label("Hierarchy of age", exact=True).input_value() == "decades"
        page.locator("select[name='role:id']").evaluate(
            "node => { node.add(new Option('other')); node.value = 'other'; }"
        )
        page.get_by_role("button", name="Publish").click()
        page.get_by_role("alert").get_by_text("id cannot be other").wait_for()


def test_true_values_stand_beside_private_ones_for_the_custodian_alone(
    browser: Browser, server: Server
) -> None:
    exact = Counter(patients.patients()["disease"].to_pylist())
    with entered(browser, server) as page:
        page.goto("/ask")
        page.get_by_label("A question, as SQL").fill(GROUPED)
        page.get_by_role("button", name="Ask charged once").click()
        page.get_by_role("heading", name="Answer", exact=True).wait_for()
        expect(page.locator(".true")).to_have_count(0)
        page.get_by_label("True values beside the answer").check()
        page.get_by_role("button", name="Ask charged once").click()
        page.get_by_text("not for publication").wait_for()
        expect(page.locator("#found tbody tr")).to_have_count(len(exact))
        rows = [row.split("\t") for row in page.locator("#found tbody tr").all_inner_texts()]
        assert {row[0]: int(row[2]) for row in rows} == exact
        with page.expect_download() as download:
            page.get_by_role("button", name="csv").click()
        assert download.value.path().read_text().startswith('"disease","n","n.low","n.high"\n')
    with entered(browser, server, "alice") as page:
        page.goto("/ask")
        expect(page.get_by_label("True values beside the answer")).to_have_count(0)
        page.locator("form.card").evaluate(
            "form => form.append("
            "Object.assign(document.createElement('input'), {name: 'beside', value: 'on'}))"
        )
        page.get_by_label("A question, as SQL").fill(GROUPED)
        page.get_by_role("button", name="Ask charged once").click()
        page.get_by_role("heading", name="Answer", exact=True).wait_for()
        expect(page.locator(".true")).to_have_count(0)
    assert len([each for each in server.curators.ledger.list_entries() if each.question == GROUPED]) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_are_legible_in_either_scheme(browser: Browser, server: Server, scheme: str) -> None:
    with entered(browser, server, color_scheme=scheme) as page:
        page.goto("/ledger")
        ledger = page.evaluate(CONTRAST)
        page.goto("/tradeoff")
        curve = page.evaluate(CONTRAST)
        page.goto("/ask")
        page.get_by_label("A question, as SQL").fill(GROUPED)
        page.get_by_role("button", name="Ask charged once").click()
        page.locator("#found").wait_for()
        page.wait_for_load_state()  # its styles, too
        for found in (ledger, curve, page.evaluate(CONTRAST)):
            assert min(found) >= 4.5


def test_every_screen_fits_a_phone(browser: Browser, server: Server) -> None:
    with entered(browser, server, viewport=NARROW) as page:

        def fits() -> None:
            page.wait_for_load_state()  # its styles, too
            assert page.evaluate("() => document.documentElement.scrollWidth") <= NARROW["width"], page.url

        for path in SCREENS:
            page.goto(path)
            fits()
        page.get_by_role("button", name="Try").click()
        page.get_by_text("nothing was written").wait_for()
        fits()
        attacked(page)
        fits()


def test_every_field_of_every_screen_has_a_name(browser: Browser, server: Server) -> None:
    with entered(browser, server) as page:
        for path in SCREENS:
            page.goto(path)
            unnamed = page.evaluate(
                "() => [...document.querySelectorAll("
                "'main input:not([type=hidden]), main select, main textarea')]"
                ".filter((each) => !each.labels.length).map((each) => each.name)"
            )
            assert unnamed == [], path
