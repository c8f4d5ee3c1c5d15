"""A real browser: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.patience import PATIENCE
from tests.services.surveys import Served, served, write_survey

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not any(map(shutil.which, NAMES)):
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with chromium() as browser:
        yield browser


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of this machine, patient."""
    found = next(path for path in map(shutil.which, NAMES) if path is not None)
    expect.set_options(timeout=1_000 * PATIENCE)
    with sync_playwright() as playwright:
        # a sandbox of its own cannot be had in most containers
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"], timeout=1_000 * PATIENCE
        )
        for name in ("new_context", "new_page"):
            setattr(browser, name, _patient(getattr(browser, name)))
        yield browser
        browser.close()


def _patient(make: Callable[..., Page | BrowserContext]) -> Callable[..., Page | BrowserContext]:
    """Pages that wait as long as it takes, where Playwright gives up after half a minute."""

    def made(**options: Any) -> Page | BrowserContext:
        found = make(**options)
        found.set_default_timeout(1_000 * PATIENCE)
        return found

    return made


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[Served]:
    with served(write_survey(tmp_path)) as found:
        yield found
