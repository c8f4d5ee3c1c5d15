"""`discreet bounds` as a custodian runs it: what is learned, charged, refused, and written."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import discreet as public
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.policy import Policy
from discreet.services.bounds.bounds_request import BoundsRequest
from discreet.services.bounds.learn_bounds import learn_bounds, plan_bounds
from discreet.services.curator import Curator
from discreet.services.policies import load_policy
from discreet.services.policy_version import compute_policy_version
from tests.services.test_promise import discreet

POLICY = """\
# who may learn what
promise: {prior: 1%, posterior: 50%}
tables:
  people:
    source: people.csv
    columns:
      age:    {type: integer, low: ?, high: ?, role: quasi}   # years
      pay:    {type: decimal, resolution: 0.01}  # euros
      weight: {type: decimal, low: ?, high: ?, resolution: ?}
      born:   {type: date}
      seen:
        type: timestamp   # in UTC
        role: quasi
      job:    {type: category, values: [?]}
      note:   {type: text}
      name:   {role: identifier}
      debt:   {type: integer}
      height: {type: integer, low: 0, high: 300}
"""
ROWS, CHIEF = 4_000, '"cook, chief"'
Run = Callable[..., dict[str, Any]]


def write_people(folder: Path, policy: str = POLICY) -> None:
    lines = ["age,pay,weight,born,seen,job,note,name,debt,height"]
    lines += [
        f"{18 + place % 60},{100 + place % 900}.5,70,{1950 + place % 50}-06-01,2024-03-0{1 + place % 9} "
        f"12:00:00,{'baker' if place % 2 else CHIEF},,p{place},{-5_000 + place % 4_000},{150 + place % 50}"
        for place in range(ROWS)
    ]
    lines += [
        "9000000000,inf,70,9999-12-31,,a rare job,,q1,,",
        "nan,nan,nan,,,,,q2,nan,",
        "x,y,z,u,v,,,q3,w,",
        ",,,,,,,q4,,",
    ]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "privacy.yaml").write_text(policy)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def found(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """What a command says to machines."""

    def run(*words: str, code: int = 0) -> dict[str, Any]:
        assert discreet(*words, "--json") == code
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    return run


def entries(found: Run) -> list[dict[str, Any]]:
    """The ledger's entries; a policy that is not filled in yet is read by a filled-in copy beside it."""
    text = Path("privacy.yaml").read_text()
    for opened, filled in (
        ("low: ?, high: ?, resolution: ?", "low: 0, high: 1, resolution: 1"),
        ("low: ?, high: ?", "low: 0, high: 1"),
        ("values: [?]", "values: [a]"),
    ):
        text = text.replace(opened, filled)
    Path("filled.yaml").write_text(text)
    told: list[dict[str, Any]] = found("ledger", "--policy", "filled.yaml")["entries"]
    return told


# -- What is learned ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ("age", "17", "128"),
        ("pay", "81.93", "1310.72"),
        ("born", "1910-04-15", "1999-08-25"),
        ("seen", "2022-06-07", "2044-11-10"),
        ("debt", "-8192", "-513"),
    ],
)
def test_bounds_are_powers_of_two_around_the_values(found: Run, column: str, low: str, high: str) -> None:
    """All bins between hold 50 rows or more: with this epsilon none is missed, and no empty bin passes."""
    told = found("bounds", "people", column, "--epsilon", "3", "--false-positives", "1e-9")
    assert told["threshold"] < 25
    assert (told["low"], told["high"]) == (low, high)


def test_the_price_is_said_in_words_and_numbers(found: Run) -> None:
    told = found("bounds", "people", "age", "--epsilon", "0.05", "--plan")
    assert (told["threshold"], told["bins"], told["false_positives"]) == (286, 128, 0.05)
    assert told["noise"] == "discrete-laplace"
    assert told["price"].startswith("Values that fewer than 286 rows have may be clamped")
    assert (told["guarantee"]["type"], told["epsilon"], told["relation"]) == ("PureDP", 0.05, "value")
    assert told["belief"]["after"] > told["belief"]["before"] == told["belief"]["prior"]
    assert entries(found) == []


def test_the_price_grows_with_the_rows_of_a_person(folder: Path, found: Run) -> None:
    keyed = "    person: name\n    rows_per_person: 46\n    columns:\n"
    (folder / "privacy.yaml").write_text(POLICY.replace("    columns:\n", keyed))
    told = found("bounds", "people", "age", "--epsilon", "0.05", "--plan")
    assert told["threshold"] == 13_119


def test_a_promise_with_a_tail_has_gaussian_noise_and_a_lower_price(folder: Path, found: Run) -> None:
    (folder / "privacy.yaml").write_text(POLICY.replace("posterior: 50%", "posterior: 50%, tail: 1e-6"))
    told = found("bounds", "people", "age", "--epsilon", "0.05", "--plan")
    assert told["noise"] == "discrete-gaussian"
    assert told["threshold"] < 100
    assert told["guarantee"]["type"] == "ZeroConcentratedDP"


def test_values_that_many_people_have_are_learned_and_rare_ones_are_not(folder: Path, found: Run) -> None:
    (folder / "privacy.yaml").write_text(POLICY.replace("posterior: 50%", "posterior: 50%, tail: 1e-6"))
    told = found("bounds", "people", "job", "--values", "--epsilon", "0.5", "--write")
    assert told["values"] == ["baker", "cook, chief"]
    assert "rare" not in json.dumps(told)
    assert told["price"].startswith(f"Values that fewer than {told['threshold'] + 1} people have")
    job = load_policy(folder / "privacy.yaml", allow_open_bounds=True).tables["people"].columns["job"]
    assert job.values == ("baker", "cook, chief")
    again = found("bounds", "people", "job", "--values", "--epsilon", "0.5", "--write")
    assert again["repeated"]
    assert again["values"] == told["values"]
    assert again["written"] is None
    assert len(entries(found)) == 1


def test_where_nothing_passes_the_result_says_so_and_the_charge_stays(
    folder: Path, found: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "privacy.yaml").read_bytes()
    words = ("bounds", "people", "age", "--epsilon", "0.001", "--false-positives", "1e-9", "--write")
    told = found(*words)
    assert (told["low"], told["high"], told["policy"], told["written"]) == (None, None, {}, None)
    assert (folder / "privacy.yaml").read_bytes() == before
    assert len(entries(found)) == 1
    assert discreet(*words) == 0
    assert "No range of values of age passed the threshold" in capsys.readouterr().out


def test_a_table_without_rows_is_answered_like_any_other(folder: Path, found: Run) -> None:
    (folder / "people.csv").write_text("age,pay,weight,born,seen,job,note,name,debt,height\n")
    told = found("bounds", "people", "debt", "--epsilon", "0.1", "--false-positives", "1e-9")
    assert (told["low"], len(told["noisy"])) == (None, 128)


def test_a_person_counts_with_the_declared_rows_alone(folder: Path, found: Run) -> None:
    """One person has all rows: with the declared 2, no bin comes near the threshold."""
    rows = "\n".join(["age,name", *(["30,p1"] * 5_000)])
    (folder / "people.csv").write_text(rows + "\n")
    (folder / "privacy.yaml").write_text(
        "promise: {prior: 1%, posterior: 50%}\ntables:\n  people:\n    source: people.csv\n    person: name\n"
        "    rows_per_person: 2\n    columns: {age: {type: integer}, name: {role: identifier}}\n"
    )
    told = found("bounds", "people", "age", "--epsilon", "2", "--false-positives", "1e-9")
    assert told["low"] is None
    assert max(row["noisy"] for row in told["noisy"]) < told["threshold"] < 60


def test_people_who_are_found_through_a_link_count_with_the_declared_rows(folder: Path, found: Run) -> None:
    """A patient with 3,000 visits of one price counts with one; other prices have a visit each."""
    prices = [f"v{place},p{place},{100 + place % 20}" for place in range(3_000)]
    many = [f"w{place},p0,9000" for place in range(3_000)]
    (folder / "patients.csv").write_text("\n".join(["id", *(f"p{place}" for place in range(3_000))]) + "\n")
    (folder / "visits.csv").write_text("\n".join(["id,patient,price", *prices, *many]) + "\n")
    (folder / "privacy.yaml").write_text(
        "promise: {prior: 1%, posterior: 50%}\ntables:\n  patients:\n    source: patients.csv\n"
        "    person: id\n    columns: {id: {role: identifier}}\n  visits:\n    source: visits.csv\n"
        "    person: {through: patient}\n    links: {patient: patients.id}\n"
        "    columns: {id: {role: identifier}, patient: {role: identifier}, price: {type: integer}}\n"
    )
    told = found("bounds", "visits", "price", "--epsilon", "0.4", "--false-positives", "1e-9", "--write")
    assert (told["low"], told["high"]) == ("65", "128")
    assert found("bounds", "visits", "price", "--epsilon", "0.4", "--false-positives", "1e-9")["repeated"]


def test_a_neighbour_sees_the_same_but_for_noisy_counts(folder: Path, found: Run) -> None:
    """One person with an extreme value changes neither outcome nor charge nor the form of the result."""
    noisy = {"noisy", "low", "high", "policy", "belief", "sentence"}
    told = []
    for extreme in ("30", "9000000000000000000"):
        (folder / "people.csv").write_text("\n".join(["age", *(["30"] * 3_000), extreme]) + "\n")
        (folder / "privacy.yaml").write_text(
            "promise: {prior: 1%, posterior: 50%}\ntables:\n  people:\n    source: people.csv\n"
            f"    columns: {{age: {{type: integer}}}}\ndata_version: {extreme[:2]}\n"
        )
        found("bounds", "people", "age", "--epsilon", "0.1", "--false-positives", "1e-9")
        told.append(found("bounds", "people", "age", "--epsilon", "0.1", "--false-positives", "1e-9"))
    first, second = ({k: v for k, v in each.items() if k not in noisy | {"entry"}} for each in told)
    assert first == second
    assert [len(each["noisy"]) for each in told] == [128, 128]
    assert [(each["low"], each["high"]) for each in told] == [("17", "32")] * 2


# -- What is charged ----------------------------------------------------------------------------------------


def test_a_request_is_charged_once_also_after_it_was_written(folder: Path, found: Run) -> None:
    words = ("bounds", "people", "age", "--epsilon", "0.2", "--write")
    first = found(*words)
    assert (first["entry"], first["repeated"], first["written"]) == (1, False, "privacy.yaml")
    found("bounds", "people", "pay", "--epsilon", "0.1", "--write")
    again = found(*words)
    assert (again["entry"], again["repeated"]) == (1, True)
    assert again["noisy"] == first["noisy"]
    assert [each["question"] for each in entries(found)] == ["bounds people age", "bounds people pay"]


def test_another_data_version_is_another_request(folder: Path, found: Run) -> None:
    words = ("bounds", "people", "debt", "--epsilon", "0.1")
    found(*words)
    (folder / "privacy.yaml").write_text(POLICY + "data_version: 2\n")
    assert found(*words)["repeated"] is False


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nobody", "age"), "the policy has no table nobody"),
        (("people", "agee"), "people has no column agee"),
        (("people", "name"), "name identifies people"),
        (("people", "note"), "of type text, which has no bounds"),
        (("people", "age", "--values"), "which declares no values"),
        (("people", "job", "--values"), "only under a promise with a tail"),
        (("people", "weight"), "declares no resolution"),
        (("people", "height"), "declares low and high already"),
        (("people", "age", "--origin", "2000-13-01"), "--origin must be a date"),
        (("people", "age", "--false-positives", "0"), "false_positives must be a probability"),
        (("people", "age", "--epsilon", "1e-9"), "leaves nothing but noise"),
    ],
)
def test_what_cannot_be_learned_is_refused_and_costs_nothing(
    found: Run, words: tuple[str, ...], sentence: str
) -> None:
    cost = () if "--epsilon" in words else ("--epsilon", "0.1")
    told = found("bounds", *words, *cost, code=2)
    assert sentence in told["error"]
    assert entries(found) == []


def test_a_budget_that_does_not_suffice_is_refused(found: Run) -> None:
    told = found("bounds", "people", "age", "--epsilon", "50", code=3)
    assert told["error"].startswith("bounds:")


def test_learned_bounds_are_not_learned_again_by_other_terms(found: Run) -> None:
    found("bounds", "people", "age", "--epsilon", "0.2", "--write")
    told = found("bounds", "people", "age", "--epsilon", "0.3", code=2)
    assert "low and high of age were learned already, by entry 1 of ledger.db" in told["error"]
    assert len(entries(found)) == 1


# -- What is written ----------------------------------------------------------------------------------------


def test_only_the_columns_entry_of_the_policy_changes(folder: Path, found: Run) -> None:
    for column in ("age", "pay", "seen"):
        assert found("bounds", "people", column, "--epsilon", "0.4", "--write")["written"] == "privacy.yaml"
    lines = (folder / "privacy.yaml").read_text().splitlines()
    old = POLICY.splitlines()
    kept = [line for line in lines if line in old]
    assert kept == [line for line in old if "age: " not in line and "pay: " not in line]
    (age,) = [line for line in lines if "age: " in line]
    assert age.startswith(
        "      age:    {type: integer, low: 17, high: 128, role: quasi, learned: {entry: 1, "
    )
    assert age.endswith("}}   # years")
    start = lines.index("        type: timestamp   # in UTC")
    assert lines[start + 1].startswith("        low: 20")
    assert lines[start + 4] == "        role: quasi"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_marks_of_a_file_stay(folder: Path, found: Run, newline: str, mark: bytes) -> None:
    (folder / "privacy.yaml").write_bytes(mark + POLICY.replace("\n", newline).encode())
    found("bounds", "people", "seen", "--epsilon", "0.4", "--write")
    content = (folder / "privacy.yaml").read_bytes()
    assert content.startswith(mark + b"# who")
    assert content.count(b"\n") == content.count(newline.encode()) == POLICY.count("\n") + 3


def test_an_entry_that_others_share_is_refused_before_it_is_charged(folder: Path, found: Run) -> None:
    shared = POLICY.replace("{type: integer}", "&whole {type: integer}")
    shared = shared.replace("{type: integer, low: 0, high: 300}", "*whole")
    (folder / "privacy.yaml").write_text(shared)
    for column in ("height", "debt"):
        told = found("bounds", "people", column, "--epsilon", "0.4", "--write", code=2)
        assert "alias" in told["error"]
    assert entries(found) == []


def test_bounds_that_were_written_bound_answers(folder: Path, found: Run) -> None:
    table = POLICY.partition("      weight")[0]
    (folder / "privacy.yaml").write_text(table)
    found("bounds", "people", "age", "--epsilon", "0.4", "--write")
    told = found("ask", "SELECT AVG(age) AS age FROM people", "--epsilon", "1")
    assert told["rows"][0][0] == pytest.approx(47.5, abs=2)


def test_bounds_stay_within_the_columns_hierarchy(folder: Path, found: Run) -> None:
    """The draft proposes ages from 0 to 120, and 128 would not be among them."""
    (folder / "privacy.yaml").write_text(POLICY + "hierarchies:\n  age: {low: 0, high: 120, widths: [5]}\n")
    told = found("bounds", "people", "age", "--epsilon", "0.4", "--write")
    assert (told["low"], told["high"], told["written"]) == ("17", "120", "privacy.yaml")


def test_what_a_policy_does_not_accept_is_shown_and_not_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hierarchy has other numbers than the column."""
    (folder / "privacy.yaml").write_text(POLICY + "hierarchies:\n  age: {low: -9, high: -5, widths: [5]}\n")
    assert discreet("bounds", "people", "age", "--epsilon", "0.4", "--write") == 2
    printed = capsys.readouterr()
    assert "age: from 17 to 128" in printed.out
    assert "The policy does not accept what was learned: privacy.yaml, line 7" in printed.err
    assert "free, and shows what was learned" in printed.err
    assert "low: 17" not in (folder / "privacy.yaml").read_text()
    assert not list(folder.glob(".privacy*"))


def test_where_bounds_come_from_does_not_change_the_identity_of_answers(folder: Path) -> None:
    plain = load_policy(folder / "privacy.yaml", allow_open_bounds=True)
    table = plain.tables["people"]
    origin = {"entry": 1, "ledger": "ledger.db", "identity": "ab", "epsilon": 0.1}

    def declare(learned: dict[str, Any] | None) -> Policy:
        facts = {"type": "integer", "low": 0, "high": 9, "learned": learned}
        columns = table.columns | {"age": type(table.columns["age"]).model_validate(facts)}
        tables = {"people": table.model_copy(update={"columns": columns})}
        return plain.model_copy(update={"tables": tables})

    assert compute_policy_version(declare(origin)) == compute_policy_version(declare(None))


def test_an_origin_without_bounds_is_refused(folder: Path) -> None:
    origin = "learned: {entry: 1, ledger: ledger.db, identity: ab, epsilon: 0.1}"
    (folder / "privacy.yaml").write_text(POLICY.replace("{type: date}", f"{{type: date, {origin}}}"))
    with pytest.raises(RequestError, match="learned goes with low and high"):
        load_policy(folder / "privacy.yaml", allow_open_bounds=True)


# -- Under another ledger -----------------------------------------------------------------------------------


def test_another_ledger_names_the_one_that_bounds_were_learned_under(folder: Path, found: Run) -> None:
    (folder / "privacy.yaml").write_text(POLICY.partition("      weight")[0])
    for column in ("age", "pay"):
        found("bounds", "people", column, "--epsilon", "0.4", "--write")
    identity = load_policy(folder / "privacy.yaml").tables["people"].columns["age"].learned
    assert identity is not None
    assert "separate promise" not in found("ledger")["sentence"]
    # other rows, so that no mark beside the source names the ledger
    other = folder / "other"
    other.mkdir()
    (other / "people.csv").write_bytes((folder / "people.csv").read_bytes())
    (other / "privacy.yaml").write_bytes((folder / "privacy.yaml").read_bytes())
    told = found(
        "ask", "SELECT COUNT(*) AS n FROM people", "--epsilon", "0.1", "--policy", "other/privacy.yaml"
    )
    named = f"ledger.db ({identity.identity[:8]})"
    assert named in json.dumps(told)
    sentence = found("ledger", "--policy", "other/privacy.yaml")["sentence"]
    assert sentence.count(named) == 1


# -- In Python ----------------------------------------------------------------------------------------------


def test_the_python_verb_learns_and_writes(folder: Path) -> None:
    learned = public.learn_bounds("privacy.yaml", "people", "age", epsilon=0.4, write=True)
    assert (learned.low, learned.high, learned.entry) == (17, 128, 1)
    assert repr(learned) == "<LearnedBounds of people, age: from 17 to 128: epsilon 0.4 (entry 1)>"
    assert learned.to_pandas()["noisy"].sum() == pytest.approx(ROWS, abs=1_500)
    html = learned._repr_html_()
    assert "age: from 17 to 128" in html
    assert "price" in html
    assert "-9007199254740991" not in html  # ranges far from all values are left to the data frame
    again = public.learn_bounds("privacy.yaml", "people", "age", epsilon=0.4, write=True)
    assert again.repeated


def test_the_python_verb_takes_an_open_curator_and_texts(folder: Path) -> None:
    policy = load_policy(folder / "privacy.yaml", allow_open_bounds=True)
    with Curator.open_policy(policy) as curator:
        learned = public.learn_bounds(
            curator, "people", "seen", epsilon=1, false_positives="1%", origin="2024-01-01"
        )
        assert isinstance(learned.low, datetime)
        assert learned.low <= datetime(2024, 3, 1, 12) < datetime(2024, 3, 9, 12) <= learned.high  # type: ignore[operator]
        with pytest.raises(InvalidParameterError, match="`write=` needs the path"):
            public.learn_bounds(curator, "people", "age", epsilon=1, write=True)
        with pytest.raises(InvalidParameterError, match="`origin=` must be a date"):
            public.learn_bounds(curator, "people", "age", epsilon=1, origin="soon")


def test_a_plan_reads_no_data(folder: Path) -> None:
    policy = load_policy(folder / "privacy.yaml", allow_open_bounds=True)
    with Curator.open_policy(policy) as curator:
        request = BoundsRequest(table="people", column="age", epsilon=0.1)
        planned = plan_bounds(curator, request)
        assert "noisy" not in planned.certificate
        assert curator.ledger.list_entries() == []
        assert learn_bounds(curator, request).plan.certificate == planned.certificate
