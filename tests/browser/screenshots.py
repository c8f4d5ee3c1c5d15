"""Pictures of every screen of the console, as docs/console has them: `python -m tests.browser.screenshots`.

The sample tables are served, a few questions asked, and each screen is opened as somebody who may see it, on
a laptop and on a phone, one of them in the dark. Another folder can be named as the argument.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize

from discreet.http.authentication import SESSION_COOKIE
from discreet.services.sample import write_policy, write_samples
from discreet.services.users import Role
from discreet.services.users.sessions import Sessions
from tests.browser.conftest import chromium
from tests.http.served import Server, both_listeners

Scheme = Literal["light", "dark"]
PLACE = Path(__file__).parents[2] / "docs" / "console"
SIZES = {
    "wide": ViewportSize(width=1280, height=900),
    "narrow": ViewportSize(width=390, height=844),
}
CUSTODIAN, ANALYST = "cara", "alice"
ADDED = "true_values: custodian\nanalysts: {alice: {share: 60%}, bob: {share: 40%}}\n"
WORK = "SELECT workclass, COUNT(*) AS people, AVG(hours_per_week) AS hours\nFROM census\nGROUP BY workclass"
EARLIER = (
    ("alice", "SELECT sex, COUNT(*) AS people FROM census GROUP BY sex", 0.1),
    ("bob", "SELECT disease, COUNT(*) AS people FROM hospital GROUP BY disease", 0.2),
    ("alice", "SELECT AVG(age) AS age FROM census", 0.05),
    ("bob", "SELECT AVG(cost) AS cost FROM hospital", 0.1),
)


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A screen, who opens it, and what is done there before the picture is taken; once more if `dark`."""

    name: str
    path: str
    user: str | None = CUSTODIAN
    do: Callable[[Page], None] = lambda page: None
    dark: bool = False


def _ask(page: Page) -> None:
    page.get_by_label("A question, as SQL").fill(WORK)
    page.get_by_label("Amount").fill("0.2")
    page.get_by_label("True values beside the answer").check()
    page.get_by_role("button", name="Ask charged once").click()
    page.locator("#found").wait_for()


def _plan(page: Page) -> None:
    page.get_by_label("A question, as SQL").fill(WORK)
    page.get_by_label("Amount").fill("0.2")
    page.get_by_role("button", name="Plan free").click()
    page.locator("#found").wait_for()


def _attack(page: Page) -> None:
    page.get_by_label("age", exact=True).fill("36")
    page.get_by_label("education", exact=True).select_option("Masters")
    page.get_by_label("marital_status", exact=True).select_option("Never-married")
    page.get_by_label("native_country", exact=True).select_option("Germany")
    page.get_by_label("Sensitive column").select_option("income")
    page.get_by_role("button", name="Attack").click()
    page.locator("#found").wait_for()


def _publish(page: Page) -> None:
    page.get_by_label("k-anonymity: k").fill("5")
    page.get_by_label("Suppress at most").fill("2%")
    page.get_by_role("button", name="Try").click()
    page.locator("#found").wait_for()


def _token(page: Page) -> None:
    page.get_by_label("What it is for").fill("notebook")
    page.get_by_role("button", name="Create a token").click()
    page.locator("#found").wait_for()
    page.goto("/account")  # a token is no picture's


def _check_table(page: Page) -> None:
    page.locator("button[value=check]:not(.quiet)").click()
    page.locator("#found").wait_for()
    # as tall as the page: the bar at the bottom of the window would hide a part of it
    height = int(page.evaluate("document.documentElement.scrollHeight"))
    assert page.viewport_size is not None
    page.set_viewport_size(ViewportSize(width=page.viewport_size["width"], height=height))


SHOTS = (
    Shot(name="login", path="/login", user=None),
    Shot(name="promise", path="/promise"),
    Shot(name="tradeoff", path="/tradeoff?sql=SELECT+sex,+COUNT(*)+AS+n+FROM+census+GROUP+BY+sex"),
    Shot(name="plan", path="/ask", user=ANALYST, do=_plan),
    Shot(name="ask", path="/ask", do=_ask, dark=True),
    Shot(name="ledger", path="/ledger"),
    Shot(name="account", path="/account", user=ANALYST, do=_token),
    Shot(name="data", path="/data"),
    Shot(name="table", path="/data/table/hospital", do=_check_table, dark=True),
    Shot(name="attack", path="/attack", do=_attack),
    Shot(name="publish", path="/publish?table=hospital", do=_publish),
)


def taken(browser: Browser, server: Server, shot: Shot, size: str, scheme: Scheme, place: Path) -> None:
    context = browser.new_context(viewport=SIZES[size], color_scheme=scheme, base_url=server.url)
    if shot.user is not None:
        found = server.users.find(shot.user)
        assert found is not None
        text = Sessions(server.users.storage).open(found)[1]
        context.add_cookies([{"name": SESSION_COOKIE, "value": text, "url": server.url}])
    page = context.new_page()
    page.goto(shot.path)
    shot.do(page)
    page.wait_for_load_state()
    name = f"{shot.name}-{size}" if scheme == "light" else f"{shot.name}-{size}-{scheme}"
    page.screenshot(path=place / f"{name}.png", full_page=True)
    context.close()


def main(place: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_samples(folder, lambda _: None)
        policy = write_policy(folder)
        policy.write_text(policy.read_text() + ADDED)
        with both_listeners(folder) as server, chromium() as browser:
            server.users.add(CUSTODIAN, Role.CUSTODIAN, ANALYST)
            for analyst, sql, epsilon in EARLIER:
                server.curators.for_analyst(analyst).ask(sql, epsilon=epsilon)
            for shot in SHOTS:
                for size in SIZES:
                    taken(browser, server, shot, size, "light", place)
                if shot.dark:
                    taken(browser, server, shot, "wide", "dark", place)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE)
