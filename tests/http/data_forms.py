"""Clients of the Data screen: uploads, and the forms of its pages as a browser would post them."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import httpx

from discreet.http.csrf import CSRF_HEADER


class FormReader(HTMLParser):
    """The fields of the forms of a page with their values, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.texts: list[str] = []
        self.tags: list[str] = []
        self._select = self._area = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = {name: value or "" for name, value in attributes}
        name = found.get("name", "")
        if tag == "input" and name:
            if found.get("type") != "checkbox":
                self.fields[name] = found.get("value", "")
            elif "checked" in found:
                self.fields[name] = "on"
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and ("selected" in found or self._select not in self.fields):
            self.fields[self._select] = found.get("value", "")
        elif tag == "textarea":
            self._area = name
            self.fields[name] = ""

    def handle_endtag(self, tag: str) -> None:
        self._select = "" if tag == "select" else self._select
        self._area = "" if tag == "textarea" else self._area

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._area] += data.removeprefix("\n")
        else:
            self.texts.append(data)


def read_page(html: str) -> FormReader:
    reader = FormReader()
    reader.feed(html)
    return reader


def upload(client: httpx.Client, name: str, content: bytes, csrf: str | None = None) -> httpx.Response:
    """The answer to an upload, with the session's token unless another is given."""
    token = client.headers[CSRF_HEADER] if csrf is None else csrf
    return client.post("/data/upload", data={"csrf": token}, files={"file": (name, content)})


def open_form(client: httpx.Client, location: str) -> dict[str, str]:
    """The fields of a form's page."""
    shown = client.get(location)
    assert shown.status_code == 200, shown.text
    return read_page(shown.text).fields


def bring_in(client: httpx.Client, name: str, content: bytes) -> dict[str, str]:
    """The fields of the form that an upload leads to."""
    stored = upload(client, name, content)
    assert stored.status_code == 303, stored.text
    return open_form(client, stored.headers["location"])


def find_source(location: str) -> str:
    return parse_qs(urlsplit(location).query)["source"][0]


def fill(fields: dict[str, str], column: str, **texts: str) -> None:
    """Type the entries of a column into the fields."""
    (place,) = (name for name, text in fields.items() if name.endswith(".name") and text == column)
    for entry, text in texts.items():
        fields[place.replace(".name", f".{entry}")] = text
