"""From an empty server to the first private answer in a real browser, without a text editor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from discreet.services.users import Role
from tests.browser.test_custodian import entered
from tests.http.served import Server, both_listeners
from tests.http.test_data_screen import ROWS, WOMEN, write_messy_csv
from tests.pgwire.served import PASSWORD

PHONE: dict[str, Any] = {"viewport": {"width": 375, "height": 812}, "is_mobile": True, "has_touch": True}
WIDTH = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "served").mkdir()
    with both_listeners(tmp_path / "served") as running:
        running.users.add("cara", Role.CUSTODIAN, "analyst", PASSWORD)
        yield running


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    path = tmp_path / "Besuche 2024.csv"
    path.write_bytes(write_messy_csv())
    return path


def find_entry(page: Page, column: str) -> Locator:
    return page.get_by_role("group", name=column, exact=True)


def upload(page: Page, path: Path) -> None:
    page.goto("/")
    page.get_by_label("A file with a table").set_input_files(path)
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/data/new?*")


def fill_in(page: Page) -> None:
    page.get_by_label("name in questions").fill("visits")
    page.get_by_label("one person is").select_option("row")
    size = find_entry(page, "Größe_cm")
    size.get_by_label("lowest").fill("100")
    size.get_by_label("highest").fill("220")
    size.get_by_label("rounded to").fill("0.1")
    sex = find_entry(page, "Geschlecht")
    sex.get_by_label("type", exact=True).select_option("category")
    sex.get_by_label("values, one per line").fill("Frau\nMann")
    day = find_entry(page, "Aufnahme")
    day.get_by_label("lowest").fill("2024-01-01")
    day.get_by_label("highest").fill("2024-12-31")


def ask(page: Page) -> dict[str, int]:
    """The counts of an answer, by the first column."""
    page.goto("/ask")
    page.get_by_label("A question, as SQL").fill(
        "SELECT Geschlecht, COUNT(*) AS n FROM visits GROUP BY Geschlecht"
    )
    page.get_by_label("Amount").fill("1")
    page.get_by_role("button", name="Ask charged once").click()
    rows = page.locator("#found tbody tr")
    expect(rows).to_have_count(2)
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    return {name: int(n.split("±")[0].replace(",", "")) for name, n in cells}


@pytest.mark.parametrize("options", [{}, PHONE, PHONE | {"java_script_enabled": False}])
def test_from_an_empty_server_to_the_first_answer(
    options: dict[str, Any], browser: Browser, empty: Server, messy: Path
) -> None:
    has_script = options.get("java_script_enabled", True)
    with entered(browser, empty, **options) as page:
        page.goto("/")
        expect(page.get_by_text("This server has no data yet")).to_be_visible()
        assert page.evaluate(WIDTH) if has_script else True
        upload(page, messy)
        fill_in(page)
        if has_script:
            noise = page.get_by_role("status")
            expect(noise).to_contain_text("mean of Größe_cm ±")
            expect(noise).to_contain_text("for a group of 1,000 rows, at epsilon 0.1 per question.")
            assert page.locator(".noise").evaluate("each => each.scrollHeight <= each.clientHeight + 1")
            assert page.evaluate(WIDTH)
        page.locator("button[value=check]:not(.quiet)").click()
        expect(page.locator("#found")).to_contain_text(f"{ROWS:,} rows; nothing was saved")
        expect(find_entry(page, "Größe_cm").locator("code")).to_contain_text("│")
        expect(page.get_by_label("name in questions")).to_have_value("visits")
        if has_script:
            assert page.evaluate(WIDTH)
        page.locator("button[value=save]").click()
        page.wait_for_url("**/check?saved=visits")
        expect(page.get_by_text("visits is saved and served.")).to_be_visible()
        page.get_by_role("button", name="Check and accept").click()
        expect(page.get_by_text("is accepted: analysts are answered.")).to_be_visible()
        found = ask(page)
    assert abs(found["Frau"] - WOMEN) <= 30
    assert abs(found["Mann"] - (ROWS - WOMEN)) <= 30


def test_a_form_shows_the_entries_that_go_with_a_type(browser: Browser, empty: Server, messy: Path) -> None:
    with entered(browser, empty) as page:
        upload(page, messy)
        sex = find_entry(page, "Geschlecht")
        expect(sex.get_by_label("values, one per line")).to_be_visible()
        expect(sex.get_by_label("lowest")).to_be_hidden()
        sex.get_by_label("type", exact=True).select_option("integer")
        expect(sex.get_by_label("values, one per line")).to_be_hidden()
        expect(sex.get_by_label("lowest")).to_be_visible()
        sex.get_by_label("role").select_option("identifier")
        expect(sex.get_by_label("lowest")).to_be_hidden()
        person = page.get_by_label("rows of one person that count")
        expect(person).to_be_hidden()
        page.get_by_label("one person is").select_option("Patient Nr")
        expect(person).to_be_visible()


def test_a_refused_form_goes_to_the_first_field_that_is_wrong(
    browser: Browser, empty: Server, messy: Path
) -> None:
    with entered(browser, empty) as page:
        upload(page, messy)
        fill_in(page)
        high = find_entry(page, "Größe_cm").get_by_label("highest")
        high.fill("tall <b>people</b>")
        high.press("Enter")
        high = find_entry(page, "Größe_cm").get_by_label("highest")
        expect(page.get_by_role("alert")).to_contain_text("One entry is wrong or missing; nothing was saved.")
        expect(high).to_be_focused()
        expect(high).to_have_value("tall <b>people</b>")
        expect(high).to_have_accessible_description(
            "must be a number such as 0.5 for type decimal; got tall <b>people</b>"
        )
        expect(page.get_by_role("group", name="Größe_cm", exact=True).locator("b")).to_have_count(0)


def test_a_file_that_is_too_large_is_refused_before_it_is_sent(
    browser: Browser, empty: Server, messy: Path
) -> None:
    with entered(browser, empty) as page:
        page.goto("/data")
        field = page.get_by_label("A file with a table")
        field.evaluate("each => { each.dataset.most = '10'; }")
        field.set_input_files(messy)
        expect(page.get_by_text("The file is too large.")).to_be_visible()
        expect(page.get_by_role("button", name="Upload")).to_be_disabled()
