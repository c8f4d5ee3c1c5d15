"""Services name Python arguments in errors; each listener shows its own names for them."""

from __future__ import annotations

from discreet.core.errors import RequestError
from discreet.http.responses import error_to_json
from discreet.pgwire.wire_errors import build_error_report

REFUSED = RequestError(
    "ask: `least_rows=` is missing.", hint='Give `within="5%"`, or `logarithmic=` for `analyst="alice"`.'
)


def test_http_names_fields_of_the_body() -> None:
    assert error_to_json(REFUSED) == {
        "error": "ask: `least_rows` is missing.",
        "code": "refused",
        "hint": 'Give `within` "5%", or `log` for `analyst` "alice".',
    }


def test_http_names_the_alias_of_every_field_that_has_one() -> None:
    told = error_to_json(RequestError("`levels=` `centres=` `weights=` `others=` `earlier=` `k=`"))
    assert told["error"] == "`level` `centre` `weight` `with` `with` `k`"


def test_an_option_of_the_server_is_no_field() -> None:
    assert error_to_json(RequestError("Start it with --name NAME."))["error"] == "Start it with --name NAME."


def test_postgresql_names_settings_and_leaves_other_arguments() -> None:
    report = build_error_report(REFUSED, lambda error: REFUSED)
    assert report.message == "ask: discreet.least_rows is missing."
    assert report.hint == "Give SET discreet.within = 5%, or logarithmic for analyst alice."
