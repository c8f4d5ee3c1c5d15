"""The settings of a session: the cost of its next questions, and settings that PostgreSQL clients expect.

Of `discreet.epsilon`, `discreet.share` and `discreet.within`, the one that was set last applies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from discreet.app.serve.spending import Spending
from discreet.app.wire.faults import WireError
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.number_checks import parse_number, parse_probability, require_count, require_positive

FLAGS = {
    "on": True,
    "true": True,
    "yes": True,
    "1": True,
    "off": False,
    "false": False,
    "no": False,
    "0": False,
}
UTF8 = ("utf8", "utf-8", "unicode")


def _epsilon(text: str) -> float:
    number = parse_number("discreet.epsilon", text)
    require_positive("discreet", "epsilon", number)
    return number


def _within(text: str) -> float | str:
    plain = text.strip().lstrip("±")
    return plain if plain.endswith("%") else parse_number("discreet.within", plain)


def _least_rows(text: str) -> int:
    count = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
    require_count("discreet", "least_rows", count)
    return count


def _flag(text: str) -> bool:
    if text.lower() not in FLAGS:
        raise InvalidParameterError("This setting takes on or off.")
    return FLAGS[text.lower()]


OWN: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "discreet.epsilon": ("", _epsilon),
    "discreet.share": ("", lambda text: parse_probability("discreet.share", text)),
    "discreet.within": ("", _within),
    "discreet.least_rows": ("", _least_rows),
    "discreet.confidence": ("95%", lambda text: parse_probability("discreet.confidence", text)),
    "discreet.raw": ("off", _flag),
    "discreet.intervals": ("off", _flag),
}
OPTION = re.compile(r"--(epsilon|share|within|least-rows)\b(?: (\d+(?:\.\d+)?%?))?")
IN_PYTHON = re.compile(r", in Python [^.;]+")
COSTS = ("discreet.epsilon", "discreet.share", "discreet.within")
PLAIN: Mapping[str, str] = {
    "application_name": "",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "client_min_messages": "notice",
    "datestyle": "ISO, MDY",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "on",
    "extra_float_digits": "1",
    "idle_in_transaction_session_timeout": "0",
    "intervalstyle": "postgres",
    "jit": "off",
    "lock_timeout": "0",
    "search_path": '"$user", public',
    "statement_timeout": "0",
    "timezone": "UTC",
}
CONSTANT: Mapping[str, str] = {
    "integer_datetimes": "on",
    "is_superuser": "off",
    "lc_collate": "C",
    "max_identifier_length": "63",
    "server_encoding": "UTF8",
    "server_version": "15.0 (discreet)",
    "server_version_num": "150000",
    "standard_conforming_strings": "on",
    "transaction_isolation": "read committed",
    "transaction_read_only": "on",
}


@dataclass
class Settings:
    """Changed settings by lower-case name; `computed` settings are read-only and evaluated when read."""

    told: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        key = name.lower()
        if key in self.told:
            return self.told[key]()
        if key in OWN:
            return self.changed.get(key, OWN[key][0])
        return self.changed.get(key, PLAIN.get(key, CONSTANT.get(key)))

    def change(self, settings: Mapping[str, str | None]) -> None:
        """Change all of the settings; raise, and change none, if one is not valid."""
        wanted = {name.lower(): value for name, value in settings.items()}
        for name, value in wanted.items():
            _require(name, value, self.told)
        for name, value in wanted.items():
            for rival in COSTS if name in COSTS and value is not None else ():
                self.changed.pop(rival, None)
            if value is None:
                self.changed.pop(name, None)
            elif name not in CONSTANT:
                self.changed[name] = value

    def all(self) -> list[tuple[str, str]]:
        names = sorted({*OWN, *PLAIN, *CONSTANT, *self.told})
        return [(name, self.get(name) or "") for name in names]

    @property
    def spending(self) -> Spending:
        values = {name: self.changed.get(name, default) for name, (default, _) in OWN.items()}
        read = {
            name.removeprefix("discreet."): OWN[name][1](value) if value else None
            for name, value in values.items()
        }
        return cast("Spending", {name: read[name] for name in Spending.__annotations__})

    @property
    def intervals(self) -> bool:
        return _flag(self.changed.get("discreet.intervals", "off"))


def _require(name: str, value: str | None, told: Mapping[str, object]) -> None:
    if name in told:
        raise WireError("55P02", "That setting is read-only.")
    if name not in OWN and name not in PLAIN and name not in CONSTANT:
        raise WireError("42704", "There is no setting of that name.", hint="SHOW ALL lists them.")
    if value is None:
        return
    if name in OWN:
        OWN[name][1](value)
    if name in CONSTANT and value.lower() != CONSTANT[name]:
        raise WireError("55P02", "That setting cannot be changed.")
    if name == "client_encoding" and value.lower() not in UTF8:
        raise WireError(
            "22023", "Only the encoding UTF-8 is supported.", hint="SET client_encoding TO 'UTF8'."
        )
    if name == "datestyle" and "iso" not in value.lower():
        raise WireError("22023", "Only the date style ISO is supported.", hint="SET datestyle TO 'ISO'.")


@contextmanager
def in_settings() -> Iterator[None]:
    """Rewrite the hints of errors raised within: settings in place of command-line options."""
    try:
        yield
    except RequestError as refusal:
        hint = OPTION.sub(lambda found: _as_setting(found[1], found[2]), IN_PYTHON.sub("", refusal.hint))
        raise type(refusal)(refusal.message, hint=hint) from None


def _as_setting(name: str, value: str | None) -> str:
    setting = f"discreet.{name.replace('-', '_')}"
    return f"SET {setting} = {value}" if value else setting
