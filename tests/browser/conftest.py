"""A real browser: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.app.surveys import Served, served, write_survey

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next((path for path in map(shutil.which, NAMES) if path is not None), None)
    if found is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        # a sandbox of its own cannot be had in most containers
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[Served]:
    with served(write_survey(tmp_path)) as found:
        yield found
