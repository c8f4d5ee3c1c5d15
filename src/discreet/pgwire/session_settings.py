"""The settings of a session: the cost of its next questions, and settings that PostgreSQL clients expect.

Of `discreet.epsilon`, `discreet.share` and `discreet.within`, the one that was set last applies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import parse_number, parse_probability, require_count, require_positive
from discreet.pgwire.wire_errors import WireError
from discreet.services.question_request import QuestionFields

FLAG_VALUES = {
    "on": True,
    "true": True,
    "yes": True,
    "1": True,
    "off": False,
    "false": False,
    "no": False,
    "0": False,
}
UTF8_NAMES = ("utf8", "utf-8", "unicode")


def _parse_epsilon(text: str) -> float:
    number = parse_number("discreet.epsilon", text)
    require_positive("discreet", "epsilon", number)
    return number


def _parse_within(text: str) -> float | str:
    plain = text.strip().lstrip("±")
    return plain if plain.endswith("%") else parse_number("discreet.within", plain)


def _parse_least_rows(text: str) -> int:
    count = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
    require_count("discreet", "least_rows", count)
    return count


def _parse_flag(text: str) -> bool:
    if text.lower() not in FLAG_VALUES:
        raise InvalidParameterError("This setting takes on or off.")
    return FLAG_VALUES[text.lower()]


DISCREET_SETTINGS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "discreet.epsilon": ("", _parse_epsilon),
    "discreet.share": ("", lambda text: parse_probability("discreet.share", text)),
    "discreet.within": ("", _parse_within),
    "discreet.least_rows": ("", _parse_least_rows),
    "discreet.confidence": ("95%", lambda text: parse_probability("discreet.confidence", text)),
    "discreet.free": ("off", _parse_flag),
    "discreet.fresh": ("off", _parse_flag),
    "discreet.raw": ("off", _parse_flag),
    "discreet.intervals": ("off", _parse_flag),
}
COST_SETTINGS = ("discreet.epsilon", "discreet.share", "discreet.within")
POSTGRES_SETTINGS: Mapping[str, str] = {
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
CONSTANT_SETTINGS: Mapping[str, str] = {
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
class SessionSettings:
    """Changed settings by lower-case name; `computed` settings are read-only and evaluated when read."""

    computed: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        key = name.lower()
        if key in self.computed:
            return self.computed[key]()
        if key in DISCREET_SETTINGS:
            return self.changed.get(key, DISCREET_SETTINGS[key][0])
        return self.changed.get(key, POSTGRES_SETTINGS.get(key, CONSTANT_SETTINGS.get(key)))

    def change(self, settings: Mapping[str, str | None]) -> None:
        """Change all of the settings; raise, and change none, if one is not valid."""
        wanted = {name.lower(): value for name, value in settings.items()}
        for name, value in wanted.items():
            _require_valid_setting(name, value, self.computed)
        for name, value in wanted.items():
            for rival in COST_SETTINGS if name in COST_SETTINGS and value is not None else ():
                self.changed.pop(rival, None)
            if value is None:
                self.changed.pop(name, None)
            elif name not in CONSTANT_SETTINGS:
                self.changed[name] = value

    def list_all(self) -> list[tuple[str, str]]:
        names = sorted({*DISCREET_SETTINGS, *POSTGRES_SETTINGS, *CONSTANT_SETTINGS, *self.computed})
        return [(name, self.get(name) or "") for name in names]

    @property
    def question_options(self) -> dict[str, object]:
        """The fields of a question that settings decide."""
        values = {name: self.changed.get(name, default) for name, (default, _) in DISCREET_SETTINGS.items()}
        read = {
            name.removeprefix("discreet."): DISCREET_SETTINGS[name][1](value) if value else None
            for name, value in values.items()
        }
        return {name: read[name] for name in QuestionFields.model_fields if name in read}

    @property
    def shows_intervals(self) -> bool:
        return _parse_flag(self.changed.get("discreet.intervals", "off"))


def _require_valid_setting(name: str, value: str | None, computed: Mapping[str, object]) -> None:
    if name in computed:
        raise WireError("55P02", "That setting is read-only.")
    if name not in DISCREET_SETTINGS and name not in POSTGRES_SETTINGS and name not in CONSTANT_SETTINGS:
        raise WireError("42704", "There is no setting of that name.", hint="SHOW ALL lists them.")
    if value is None:
        return
    if name in DISCREET_SETTINGS:
        DISCREET_SETTINGS[name][1](value)
    if name in CONSTANT_SETTINGS and value.lower() != CONSTANT_SETTINGS[name]:
        raise WireError("55P02", f"{name} can only be {CONSTANT_SETTINGS[name]}.")
    if name == "client_encoding" and value.lower() not in UTF8_NAMES:
        raise WireError(
            "22023", "Only the encoding UTF-8 is supported.", hint="SET client_encoding TO 'UTF8'."
        )
    if name == "datestyle" and "iso" not in value.lower():
        raise WireError("22023", "Only the date style ISO is supported.", hint="SET datestyle TO 'ISO'.")
