"""Messy files, from `init` through one edit and the check to the answer: right, or stopped by a sentence.

Answers are asked for at a large epsilon, and compared with the truth by the noise that they say they have: a
value is further away than SPREAD of its ± once in 1e9.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet import Curator
from discreet.core.errors import DiscreetError
from discreet.services.check.check_report import DataCheck
from discreet.services.check.verdicts import Verdict
from discreet.services.policy_draft.policy_draft import InitRequest, draft_policy
from tests.services.messy_files import LATE, MESSY_FILES, NAMES, SEXES, TOWNS, VISITS, MessyFile

SPREAD = 7
"""ln(1e9) / ln(20): noise with the tails of Laplace's."""
SQL = (
    "SELECT COUNT(*) AS n, SUM({kg}) AS kg, COUNT({kg}) AS weighed, "
    "COUNT(*) FILTER (WHERE {visit} >= DATE '2024-01-01') AS late, "
    "COUNT(*) FILTER (WHERE {sex} = 'Male') AS men FROM data"
)
TOWN_SQL = "SELECT {town}, COUNT(*) AS n FROM data GROUP BY {town}"


def fill_in(folder: Path, file: MessyFile) -> dict[str, str]:
    """Fill in the draft as a custodian would; return the name of each column in it."""
    path = folder / "privacy.yaml"
    text = path.read_text(encoding="utf-8").replace(
        "prior: 1%, posterior: 5%", "prior: 0.1%, posterior: 99.99%"
    )
    for entry, decision in file.decided.items():
        text = re.sub(rf"(\b{entry}: )(\[.*)?\?.*", rf"\g<1>{decision}", text, count=1)
    head, _, rest = text.partition("    columns:")
    text = head.replace("rows_per_person: ?", "rows_per_person: 1").replace("person: ?", "person: row")
    drafted = re.findall(r'^      ("[^"]+"|[^\s#][^:]*): +\{(from: "(?:[^"\\]|\\.)*", )?', rest, re.M)
    places = {name.strip('"'): origin for name, origin in drafted}
    own = list(places)
    named = {each: each if each in places else own[NAMES.index(each)] for each in NAMES}
    entries = {
        "visit": "type: date, low: 2000-01-01, high: 2030-01-01",
        "kg": f"type: decimal, low: 0, high: {200 * file.unit}, resolution: 0.01",
        "sex": f"type: category, values: [{', '.join(SEXES)}]",
        "town": f"type: category, values: [{', '.join(TOWNS)}]" if file.has_town else "type: text",
    }
    lines = [f'      "{named[name]}": {{{places[named[name]]}{entry}}}' for name, entry in entries.items()]
    path.write_text("\n".join([f"{text}    columns:", *lines, ""]), encoding="utf-8")
    return {name: f'"{column}"' for name, column in named.items()}


def list_sentences(check: DataCheck) -> str:
    found = [finding for table in check.tables for finding in table.findings]
    found += [each for table in check.tables for column in table.columns for each in column.findings]
    return "\n".join(f"{each.text}. {each.fix}" for each in found if each.verdict is Verdict.EXCEEDS)


def count_truth(file: MessyFile) -> dict[str, float]:
    weighed = [visit for visit in VISITS if visit.id % 100 not in file.missing]
    return {
        "n": len(VISITS),
        "kg": file.unit * sum(visit.kg for visit in weighed),
        "weighed": len(weighed),
        "late": sum(visit.day >= LATE for visit in VISITS),
        "men": sum(visit.sex == "Male" for visit in VISITS),
    }


@pytest.mark.parametrize("name", MESSY_FILES)
def test_a_messy_file_is_read_right_or_stopped_by_a_sentence(tmp_path: Path, name: str) -> None:
    file = MESSY_FILES[name]
    path = tmp_path / f"data{file.suffix}"
    path.write_bytes(file.content)
    try:
        draft_policy(InitRequest(tables=(str(path),), output=tmp_path / "privacy.yaml"))
        names = fill_in(tmp_path, file)
        with Curator.open(tmp_path / "privacy.yaml") as curator:
            check = curator.check()
            sentences = list_sentences(check)
            if check.verdict is Verdict.EXCEEDS:
                with pytest.raises(DiscreetError, match="nothing was accepted"):
                    curator.check(accept=True)
            else:
                require_right_answers(curator, file, names)
    except DiscreetError as error:
        sentences = str(error)
    assert file.stopped in sentences, sentences
    assert bool(file.stopped) == bool(sentences), sentences


def require_right_answers(curator: Curator, file: MessyFile, names: dict[str, str]) -> None:
    answer = curator.ask(SQL.format_map(names), epsilon=10)
    (row,) = answer.table.to_pylist()
    for column, expected in count_truth(file).items():
        low, high = (ends[0] for ends in answer.intervals[column])
        assert low is not None
        assert high is not None
        assert abs(row[column] - expected) <= SPREAD * max((high - low) / 2, 1), (column, row, expected)
    if file.has_town:
        towns = curator.ask(TOWN_SQL.format_map(names), epsilon=3).table.to_pylist()
        assert len(towns) == len(TOWNS)
        assert all(abs(each["n"] - len(VISITS) / len(TOWNS)) < 15 for each in towns), towns
