"""`discreet anonymize` and `Anonymizer`: what is published, judged by reading the published file."""

from __future__ import annotations

import json
import random as shuffler
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from discreet import Anonymizer
from discreet.anonymity.models import KAnonymity
from discreet.core.errors import DataError, InvalidParameterError, ModelNotMetError, RequestError
from discreet.services.policies import load_policy
from discreet.services.sample import write_policy, write_samples
from tests.anonymity.data import ADULT, DATA, needs_data
from tests.services.test_promise import discreet

POLICY = """\
tables:
  people:
    source: people.csv
    columns:
      name:    {role: identifier}
      age:     {type: integer, low: 0, high: 99, role: quasi, hierarchy: ages}
      zipcode: {role: quasi, missing: category}
      disease: {role: sensitive}
      note:    {role: other}
hierarchies:
  ages: {widths: [10, 50]}
  zipcode: {mask: right}
"""
ROWS = [
    (f"person {i}", 20 + 7 * i % 60, f"130{i % 4}{i % 7}", ("flu", "cancer", "HIV")[i % 3], f"n{i % 2}")
    for i in range(60)
]
HEAD = "name,age,zipcode,disease,note"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_people(tmp_path, ROWS)
    (tmp_path / "privacy.yaml").write_text(POLICY)
    return tmp_path


def write_people(folder: Path, rows: Sequence[tuple[object, ...]]) -> None:
    lines = [HEAD, *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")


def publish(folder: Path, *options: str, name: str = "release.csv") -> int:
    policy, output = str(folder / "privacy.yaml"), str(folder / name)
    return discreet("anonymize", "people", "--policy", policy, *options, "-o", output)


def classes(table: pa.Table, quasi: tuple[str, ...]) -> dict[tuple[object, ...], list[dict[str, object]]]:
    found = defaultdict(list)
    for row in table.to_pylist():
        found[tuple(row[name] for name in quasi)].append(row)
    return found


def test_what_is_published_meets_the_models_and_names_nobody(folder: Path) -> None:
    options = ("-k", "5", "--l-diversity", "disease:2:distinct", "--suppress", "10%")
    assert publish(folder, *options) == 0
    published = pacsv.read_csv(folder / "release.csv")
    assert published.column_names == ["age", "zipcode", "disease", "note"]
    for rows in classes(published, ("age", "zipcode")).values():
        assert len(rows) >= 5
        assert len({row["disease"] for row in rows}) >= 2
    assert 54 <= published.num_rows <= 60
    assert "person" not in (folder / "release.csv").read_text()


def test_p_sensitive_classes_have_k_rows_and_p_values(folder: Path) -> None:
    assert publish(folder, "-k", "4", "--p-sensitive", "disease:3", "--suppress", "20%") == 0
    for rows in classes(pacsv.read_csv(folder / "release.csv"), ("age", "zipcode")).values():
        assert len(rows) >= 4
        assert len({row["disease"] for row in rows}) >= 3
    certificate = json.loads((folder / "release.certificate.json").read_text())
    assert [each["name"] for each in certificate["models"]] == [
        "4-anonymity",
        "3-sensitive 4-anonymity of disease",
    ]
    assert {(each["attack"], each["most"]) for each in certificate["bounds"]} == {
        ("linkage", 0.25),
        ("homogeneity", 1.0),
    }


@pytest.mark.parametrize("method", ["generalize", "local", "mondrian"])
def test_every_method_keeps_the_models(folder: Path, method: str) -> None:
    assert publish(folder, "-k", "4", "--method", method, "--suppress", "20%") == 0
    published = pacsv.read_csv(folder / "release.csv")
    assert all(len(rows) >= 4 for rows in classes(published, ("age", "zipcode")).values())
    assert published.num_rows >= 48


@pytest.mark.parametrize("name", ["release.csv", "release.parquet"])
def test_the_order_of_rows_leaves_no_trace(folder: Path, name: str) -> None:
    written = []
    for seed in range(3):
        rows = list(ROWS)
        shuffler.Random(seed).shuffle(rows)
        write_people(folder, rows)
        assert publish(folder, "-k", "3", "--suppress", "20%", name=name) == 0
        written.append((folder / name).read_bytes())
    assert written[0] == written[1] == written[2]


def test_values_are_as_often_published_as_they_occur(folder: Path) -> None:
    assert publish(folder, "-k", "3") == 0
    published = pacsv.read_csv(folder / "release.csv")
    assert Counter(published.column("disease").to_pylist()) == Counter(row[3] for row in ROWS)


def test_missing_values_are_a_group_of_their_own_and_stay_missing(folder: Path) -> None:
    rows = [row if i % 6 else (*row[:2], "", *row[3:]) for i, row in enumerate(ROWS)]
    write_people(folder, rows)
    assert publish(folder, "-k", "5", "--suppress", "50%", name="release.parquet") == 0
    published = pq.read_table(folder / "release.parquet")
    found = classes(published, ("age", "zipcode"))
    assert all(len(rows) >= 5 for rows in found.values())
    shown = {zipcode for _, zipcode in found}
    assert shown == {"*"} or None in shown or shown.isdisjoint({""})


def test_missing_values_without_a_rule_are_refused_and_none_is_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "privacy.yaml").write_text(POLICY.replace(", missing: category", ""))
    write_people(folder, [(*ROWS[0][:2], "", *ROWS[0][3:]), *ROWS[1:]])
    assert publish(folder, "-k", "5") == 2
    told = capsys.readouterr().err
    assert "zipcode" in told
    assert "missing: category" in told
    assert not (folder / "release.csv").exists()


def test_a_goal_out_of_reach_ends_with_code_4_and_names_what_is_near(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(folder, "-k", "61") == 4
    told = " ".join(capsys.readouterr().err.split())
    assert "61-anonymity" in told
    assert "at most 60" in told
    assert not (folder / "release.csv").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--l-diversity", "zipcode:2:distinct"), "quasi-identifier"),
        (("--l-diversity", "height:2:distinct"), "does not have"),
        (("--l-diversity", "disease:two:distinct"), "whole number"),
        (("--k-map", "5"), "--population"),
        (("--p-sensitive", "disease"), "--p-sensitive must be COLUMN:P; got disease."),
        (("--p-sensitive", "disease:0"), "whole number"),
        (("-k", "5", "--level", "age=two"), "--level must be COLUMN=NUMBER; got two."),
        (("-k", "5", "--at-most", "often"), "--at-most must be a probability"),
        (("-k", "5", "--objective", "beauty"), "There are loss"),
        (("-k", "5", "--method", "magic"), "mondrian"),
        (("-k", "5", "--quasi", "age"), "for files"),
        (("-k", "5", "--unit", "family"), "--unit"),
        (("-k", "0"), "discreet: -k must be at least 1; got 0."),
        (("-k", "5", "--suppress", "200%"), "--suppress"),
        ((), "-k 5"),
    ],
)
def test_bad_requests_get_one_sentence(
    folder: Path, options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(folder, *options) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert words in told
    assert "Traceback" not in told


def test_an_empty_table_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_people(folder, [])
    assert publish(folder, "-k", "2") == 2
    assert "empty" in capsys.readouterr().err


def test_the_certificate_holds_parameters_and_no_results(folder: Path) -> None:
    assert publish(folder, "-k", "5", "--suppress", "10%") == 0
    text = (folder / "release.certificate.json").read_text()
    told = json.loads(text)
    assert told["models"][0]["name"] == "5-anonymity"
    assert told["suppression_limit"] == "1/10"
    assert told["columns"]["name"] == {"role": "identifier", "published": "left out"}
    assert len(told["sha256"]) == 64
    assert not {"loss", "suppressed", "risk", "classes", "seconds"} & set(told)
    assert "anonymous" not in text


def test_a_certificate_does_not_tell_how_long_the_longest_code_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def certified() -> str:
        assert publish(folder, "-k", "5", "--suppress", "10%") == 0
        told = json.loads((folder / "release.certificate.json").read_text())
        return str(told["columns"]["zipcode"]["published"])

    long = ("person 60", 25, "130001234", "flu", "n0")
    write_people(folder, [*ROWS, long])
    level = certified()
    assert level.startswith("level ")
    assert " of " not in level
    assert "Codes of zipcode differ in length" in capsys.readouterr().err
    (folder / "privacy.yaml").write_text(POLICY.replace("{mask: right}", "{mask: right, length: 9}"))
    assert certified().endswith(" of 9")
    assert "differ in length" not in capsys.readouterr().err


def test_the_report_says_whose_it_is_and_fetches_nothing(folder: Path) -> None:
    assert publish(folder, "-k", "5", "--suppress", "10%") == 0
    page = (folder / "release.report.html").read_text()
    assert page.index("For the custodian only") < page.index("<h1>")
    assert "<svg" in page
    assert not [word for word in ("<script", "src=", "@import", "<link", "<img") if word in page]


def test_json_has_the_keys_that_machines_rely_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish(folder, "-k", "5", "--suppress", "10%", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    wanted = {"levels", "loss", "suppressed", "classes", "models", "risk", "seconds"}
    assert wanted <= set(told)
    assert set(told["levels"]) == {"age", "zipcode"}
    assert told["risk"]["after"]["prosecutor_highest"] <= 0.2


def test_a_search_that_runs_out_of_time_says_so_wherever_it_is_told_of(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("-k", "5", "--suppress", "10%")
    cut = "not proven best: too many generalizations for 1e-06 seconds"
    assert publish(folder, *asked, "--seconds", "1e-6") == 0
    shown = capsys.readouterr().out
    assert cut in " ".join(shown.split())
    assert json.loads((folder / "release.certificate.json").read_text())["search"] == cut
    assert cut in (folder / "release.report.html").read_text()
    assert publish(folder, *asked, "--seconds", "1e-6", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["optimal"], told["search"]) == (False, cut)
    assert publish(folder, *asked) == 0
    assert json.loads((folder / "release.certificate.json").read_text())["search"] == "the best of all"


def test_the_ledger_names_the_release_from_then_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    promise = "promise: {prior: 1%, posterior: 5%}\n"
    (folder / "privacy.yaml").write_text(promise + POLICY)
    assert publish(folder, "-k", "5", "--suppress", "10%") == 0
    capsys.readouterr()
    assert discreet("ledger", "--policy", str(folder / "privacy.yaml")) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "release.csv" in told
    assert "no such bound holds" in told


def test_check_judges_a_table_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = str(folder / "privacy.yaml")
    assert discreet("anonymize", "people", "--policy", policy, "--check", "-k", "1", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    counts = Counter((row[1], row[2]) for row in ROWS)
    assert told["classes"] == len(counts)
    assert next(each["value"] for each in told["strongest"] if each["family"] == "k") == min(counts.values())
    assert discreet("anonymize", "people", "--policy", policy, "--check", "-k", "50") == 4
    captured = capsys.readouterr()
    assert "does not meet 50-anonymity" in captured.err
    assert "person" not in captured.out


def test_a_promise_picks_the_model_that_caps_belief(folder: Path) -> None:
    assert publish(folder, "--posterior", "50%", "--suppress", "20%") == 0
    published = pacsv.read_csv(folder / "release.csv")
    for rows in classes(published, ("age", "zipcode")).values():
        most = max(Counter(row["disease"] for row in rows).values())
        assert 2 * most <= len(rows)


def test_people_are_counted_not_their_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("Ann", 30, "13053", "flu")] * 9 + [("Bob", 30, "13053", "flu")]
    lines = ["name,age,zipcode,disease", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    text = POLICY.replace("    columns:", "    person: name\n    rows_per_person: 9\n    columns:")
    (tmp_path / "privacy.yaml").write_text(text.replace("      note:    {role: other}\n", ""))
    assert publish(tmp_path, "-k", "3") == 4
    assert publish(tmp_path, "-k", "2") == 0
    assert publish(tmp_path, "-k", "10", "--unit", "row") == 0
    (tmp_path / "people.csv").write_text("\n".join([*lines, "Ann,31,13053,flu"]) + "\n")
    capsys.readouterr()
    assert publish(tmp_path, "-k", "2") == 2
    assert "different quasi-identifiers" in capsys.readouterr().err


def as_pandas(table: pa.Table) -> object:
    return table.to_pandas()


def as_polars(table: pa.Table) -> object:
    import polars as pl

    return pl.from_arrow(table)


@pytest.mark.parametrize("given", [lambda table: table, as_pandas, as_polars])
def test_frames_go_in_and_come_out(folder: Path, given: Callable[[pa.Table], object]) -> None:
    columns = list(zip(*ROWS, strict=True))
    table = pa.table(dict(zip(HEAD.split(","), map(list, columns), strict=True)))
    policy = load_policy(folder / "privacy.yaml")
    release = Anonymizer(policy, models=[KAnonymity(k=5)], suppress="1/10").fit(given(table)).release
    arrow = release.to_arrow()
    assert all(len(rows) >= 5 for rows in classes(arrow, ("age", "zipcode")).values())
    assert len(release.to_pandas()) == release.to_polars().height == arrow.num_rows


def test_errors_of_the_library_are_those_of_the_command(folder: Path) -> None:
    with pytest.raises(ModelNotMetError, match="Nearest"):
        Anonymizer(folder / "privacy.yaml", models=[KAnonymity(k=1000)]).fit("people")
    write_people(folder, [])
    with pytest.raises(DataError, match="empty"):
        Anonymizer(folder / "privacy.yaml", models=[KAnonymity(k=2)]).fit("people")


def test_the_help_names_every_objective_and_method(capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.anonymity.search import OBJECTIVES
    from discreet.services.anonymize.release_goal import Method

    assert discreet("anonymize", "--help") == 0
    told = "".join(capsys.readouterr().out.split())
    assert "|".join(each.name for each in OBJECTIVES) + "." in told
    assert "|".join((*Method, "private")) + ":" in told


def test_the_sample_is_published_as_the_documentation_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_samples(tmp_path)
    policy = str(write_policy(tmp_path))
    models = ("-k", "5", "--l-diversity", "disease:2:entropy", "--t-closeness", "disease:0.2:equal")
    output = str(tmp_path / "release.parquet")
    assert discreet("anonymize", "hospital", "-p", policy, *models, "--suppress", "2%", "-o", output) == 0
    told = " ".join(capsys.readouterr().out.split())
    for words in ("people in", "the best of all", "not differentially private", "not stopped", "prosecutor"):
        assert words in told
    assert "person_id" not in pq.read_schema(output).names


@needs_data
def test_adult_is_generalized_as_arx_does(capsys: pytest.CaptureFixture[str]) -> None:
    folder = DATA / "adult_arx"
    files = [f"--hierarchy={name}={folder}/adult_hierarchy_{name}.csv" for name in ADULT]
    options = ("-k", "5", "--suppress", "5%", "--quasi", ",".join(ADULT), *files, "--json")
    assert discreet("anonymize", str(folder / "adult.csv"), *options) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["loss"] == pytest.approx(0.2419323651, abs=1e-10)
    assert (told["suppressed"], told["classes"], told["optimal"]) == (1346, 397, True)


def test_columns_of_a_file_that_are_called_like_identifiers_do_not_leave(tmp_path: Path) -> None:
    rows = [f"P{i};{'' if i % 5 == 0 else i % 3};{i % 2}" for i in range(60)]
    (tmp_path / "visits.csv").write_text("Patient No;Area;Ward\n" + "\n".join(rows) + "\n")
    output = tmp_path / "release.parquet"
    assert (
        discreet("anonymize", str(tmp_path / "visits.csv"), "--quasi", "Area", "-k", "5", "-o", str(output))
        == 0
    )
    assert pq.read_schema(output).names == ["Area"]


def test_counts_that_are_wrong_by_more_than_all_are_reported_and_the_release_is_entered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_samples(tmp_path)
    policy = str(write_policy(tmp_path))
    output = tmp_path / "release.csv"
    assert discreet("anonymize", "census", "-p", policy, "-k", "5", "-o", str(output)) == 0
    assert (tmp_path / "release.report.html").exists()
    capsys.readouterr()
    assert discreet("ledger", "--policy", policy) == 0
    assert "release.csv" in " ".join(capsys.readouterr().out.split())


def test_the_report_tells_the_custodian_of_risk_utility_and_attacks(folder: Path) -> None:
    options = ("-k", "5", "--l-diversity", "disease:2:entropy", "--suppress", "10%", "--sampling", "10%")
    assert publish(folder, *options) == 0
    page = (folder / "release.report.html").read_text()
    for words in (
        "alone with their quasi-identifiers",
        "by estimate (Zayatz)",
        "by estimate (Pitman)",
        "Special uniques",
        "separation",
        "published as it is",
        "discernibility",
        "ambiguity",
        "height",
        "random counts",
        "A tree that predicts disease",
        "Two releases about the same people, each safe, are joined.",
    ):
        assert words in page, words
    certificate = (folder / "release.certificate.json").read_text()
    assert not [word for word in ("Zayatz", "alone", "separation", "median") if word in certificate]


def test_who_is_alone_is_counted_and_estimated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counter((row[1], row[2]) for row in ROWS)
    alone = sum(count == 1 for count in counts.values())
    assert publish(folder, "-k", "5", "--suppress", "10%", "--json") == 0
    before, after = json.loads(capsys.readouterr().out)["risk"].values()
    assert (before["unique"], after["unique"]) == (alone, 0)
    assert before["unique_in_population"] is None
    assert publish(folder, "-k", "5", "--suppress", "10%", "--sampling", "50%", "--json") == 0
    estimates = json.loads(capsys.readouterr().out)["risk"]["before"]["unique_in_population"]
    assert set(estimates) == {"zayatz", "pitman", "snb"}
    assert estimates["zayatz"] > 0


def test_each_model_says_which_attacks_it_does_not_stop(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("-k", "5", "--l-diversity", "disease:2:probabilistic", "--suppress", "20%")
    assert publish(folder, *options) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("not stopped:") == 2
    assert "homogeneity" in told.partition("probabilistic")[0]
    assert "homogeneity" not in told.rpartition("not stopped:")[2].partition("Attacked with")[0]


def nearest_told(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert publish(folder, *options) == 4
    return " ".join(capsys.readouterr().err.split()).partition("Nearest: ")[2]


def test_the_nearest_parameter_that_is_named_can_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    diseases = ["flu"] * 17 + ["cancer"] * 14 + ["HIV"] * 16 + ["cold"] * 13
    write_people(tmp_path, [(*row[:3], each, row[4]) for row, each in zip(ROWS, diseases, strict=True)])
    (tmp_path / "privacy.yaml").write_text(POLICY)
    told = nearest_told(tmp_path, capsys, "--l-diversity", "disease:4:probabilistic")
    reached = told.partition("at most ")[2].partition(" ")[0]
    assert reached == "3.52"  # 60 / 17 is 3.529
    assert publish(tmp_path, "--l-diversity", f"disease:{reached}:probabilistic") == 0


@pytest.mark.parametrize("kind", ["", ":recursive"])
def test_who_asks_for_a_posterior_is_told_the_nearest_one(
    folder: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = nearest_told(folder, capsys, "--posterior", f"10%{kind}")
    reached = told.partition("--posterior ")[2].partition(" ")[0]
    assert reached == "33.4%"  # each disease is that of a third
    assert publish(folder, "--posterior", f"{reached}{kind}") == 0


def test_the_anonymizer_is_at_hand_and_the_package_loads_nothing_for_it() -> None:
    shown = "import sys, discreet; print('pyarrow' in sys.modules); print(discreet.Anonymizer.__name__)"
    told = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "Anonymizer"]


def test_check_names_the_worst_class_to_the_custodian(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_people(folder, [*ROWS * 2, ("the last", 99, "99999", "flu", "n0")])
    check = ("anonymize", "people", "--policy", str(folder / "privacy.yaml"), "--check", "-k", "2")
    assert discreet(*check) == 4
    told = " ".join(capsys.readouterr().out.split())
    assert "for the custodian alone: 2-anonymity: 1 with age 99, zipcode 99999" in told
    assert discreet(*check, "--json") == 4
    worst = json.loads(capsys.readouterr().out)["models"][0]["worst_class"]
    assert worst["labels"] == {"age": "99", "zipcode": "99999"}
    assert (worst["for"], worst["size"]) == ("custodian", 1)


def test_check_tells_the_strongest_recursive_and_hierarchical_models(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("p", 30, "13053", disease, "n") for disease in ["flu"] * 3 + ["cancer"] * 2 + ["HIV"]]
    others = [("p", 31, "13053", disease, "n") for disease in ["flu", "cancer", "HIV"]]
    write_people(folder, rows + others)
    tree = '  disease: {tree: {"*": {viral: [flu, HIV], tumour: [cancer]}}}\n'
    (folder / "privacy.yaml").write_text(POLICY + tree)
    check = ("anonymize", "people", "--policy", str(folder / "privacy.yaml"), "--check", "-k", "1")
    assert discreet(*check, "--json") == 0
    strongest = json.loads(capsys.readouterr().out)["strongest"]
    recursive = {each["l"]: each["value"] for each in strongest if each["family"] == "recursive"}
    assert recursive == {2: 1.0, 3: 3.0}
    (closeness,) = [each["value"] for each in strongest if each["family"] == "hierarchical"]
    model = f"disease:{closeness + 1e-9:.9f}:hierarchical"
    assert discreet(*check, "--t-closeness", model) == 0
    assert "recursive (c, 3)-diversity, every c above" in " ".join(capsys.readouterr().out.split())
    assert discreet(*check, "--t-closeness", f"disease:{closeness - 1e-6:.9f}:hierarchical") == 4


def test_the_certificate_of_another_file_is_not_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(folder, "-k", "5", "--suppress", "10%", name="release.parquet") == 0
    before = (folder / "release.certificate.json").read_text()
    capsys.readouterr()
    assert publish(folder, "-k", "3", "--suppress", "10%", name="release.csv") == 2
    assert "certifies another release than release.csv" in " ".join(capsys.readouterr().err.split())
    assert (folder / "release.certificate.json").read_text() == before
    assert not (folder / "release.csv").exists()
    assert publish(folder, "-k", "5", "--suppress", "10%", name="release.parquet") == 0


@pytest.mark.parametrize("option", [("--minimal",), ("--top", "2")])
def test_loss_is_shown_in_full_on_a_narrow_console(
    tmp_path: Path,
    option: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"a_column_of_a_long_name_{place}" for place in range(6)]
    rows = [",".join(str((row >> place) % 2) for place in range(6)) for row in range(64)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    request = ("anonymize", str(tmp_path / "wide.csv"), "--quasi", ",".join(names), "-k", "2", *option)
    assert discreet(*request, "--json") == 0
    (found,) = [
        each for key, each in json.loads(capsys.readouterr().out).items() if key in ("minimal", "top")
    ]
    assert discreet(*request) == 0
    told = capsys.readouterr().out
    for each in found:
        levels = ",".join(str(each["levels"][name]) for name in names)
        assert f"{each['loss']:.4f}" in told
        assert levels in told
    assert f"levels of {', '.join(names)}" in " ".join(told.split())


def test_a_column_at_its_top_keeps_no_detail(folder: Path) -> None:
    assert publish(folder, "-k", "5", "--level", "age=3", "--level", "zipcode=5") == 0
    page = (folder / "release.report.html").read_text()
    assert "1 in" not in page.partition("How far each column")[2].partition("<svg")[0]
    assert publish(folder, "-k", "60") == 0
    page = (folder / "release.report.html").read_text()
    assert ">0%<" in page.partition("How far each column")[2].partition("<svg")[0]


def test_a_value_that_a_hierarchy_lacks_is_told_with_a_way_out_that_needs_no_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text("job\nnurse\ncook\nclerk\n")
    (tmp_path / "tree.csv").write_text("nurse;*\ncook;*\n")
    assert discreet("anonymize", "jobs.csv", "--quasi", "job", "--hierarchy", "job=tree.csv", "-k", "2") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "does not cover one value in the data. Add the missing values, or widen its domain" in told
    assert "where a policy declares the column, `discreet hierarchy job --uncovered`" in told
    assert "clerk" not in told


@pytest.mark.parametrize("suppress", ["10%", "1/10", 0.1])
def test_what_may_be_left_out_is_given_as_the_command_takes_it(folder: Path, suppress: str | float) -> None:
    assert Anonymizer(
        folder / "privacy.yaml", models=[KAnonymity(k=5)], suppress=suppress
    ).goal.suppress == Fraction(1, 10)


def test_what_python_cannot_use_gets_one_sentence(folder: Path) -> None:
    with pytest.raises(InvalidParameterError, match="`suppress=` must be"):
        Anonymizer(folder / "privacy.yaml", models=[KAnonymity(k=5)], suppress="a little")
    with pytest.raises(InvalidParameterError, match="must be a share such as 2%"):
        Anonymizer(folder / "privacy.yaml", models=[KAnonymity(k=5)], suppress=2)
    with pytest.raises(RequestError, match="`policy=` must be the path of a policy file"):
        Anonymizer({"tables": {}})  # type: ignore[arg-type]


def test_a_lazy_frame_is_collected_and_a_release_prints_no_counts(folder: Path) -> None:
    import polars as pl

    lazy = pl.DataFrame(ROWS, schema=HEAD.split(","), orient="row").lazy()
    release = Anonymizer(folder / "privacy.yaml", models=[KAnonymity(k=5)], suppress="10%").fit(lazy).release
    assert release.to_arrow().num_rows >= 54
    assert repr(release) == "<Release of people (age, zipcode, disease, note): generalize, 5-anonymity>"


@pytest.mark.parametrize(
    ("ages", "said"),
    [
        ("31 32 33 34", "warning: age is a number without bounds, so its digits are masked"),
        ("31 32 33 abc", "warning: age is read as text, because some of its values are not numbers."),
        ("5 05 17 31", "warning: age is read as text, because some of its numbers are written as 05"),
    ],
)
def test_numbers_of_a_plain_file_that_are_treated_as_text_are_warned_of(
    tmp_path: Path, ages: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{age},{zipcode}" for age in ages.split() for zipcode in ("13053", "13068")]
    (tmp_path / "plain.csv").write_text("\n".join(["age,zipcode", *rows]) + "\n")
    request = ("anonymize", str(tmp_path / "plain.csv"), "--quasi", "age,zipcode", "-k", "2")
    assert discreet(*request) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert said in told
    assert "Give --hierarchy age=FILE, or a policy with its bounds." in told
    assert told.count("warning") == 1  # codes are masked as they should be
    assert discreet(*request, "--check") in (0, 4)
    assert "warning" not in capsys.readouterr().err  # nothing is made coarser
    (tmp_path / "ages.csv").write_text("".join(f"{age};*\n" for age in ages.split()))
    assert discreet(*request, "--hierarchy", f"age={tmp_path / 'ages.csv'}") == 0
    assert "warning" not in capsys.readouterr().err


def test_a_number_of_a_plain_file_that_is_shown_as_a_mean_is_not_said_to_be_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain.csv").write_text("age\n31\n32\n41\n42\n")
    request = ("anonymize", str(tmp_path / "plain.csv"), "--quasi", "age", "-k", "2")
    for centred in (("--method", "microaggregate"), ("--centre", "age=mean")):
        assert discreet(*request, *centred) == 0
        assert "masked" not in capsys.readouterr().err


def test_a_hierarchy_of_the_policy_without_bounds_is_refused_for_a_plain_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("privacy.yaml").write_text(POLICY.replace("ages", "age"))
    Path("plain.csv").write_text("age\n31\n32\n41\n42\n")
    request = ("anonymize", "plain.csv", "--quasi", "age", "-k", "2")
    assert discreet(*request) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "The policy's hierarchy age has no bounds of its own, and plain.csv declares none." in told
    assert "--hierarchy age=FILE" in told
    assert discreet(*request, "--check") == 4  # the table as it is needs no hierarchy


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nowhere.csv --quasi age -k 5", "nowhere.csv does not exist"),
        ("people -p nowhere.yaml -k 5", "There is no policy nowhere.yaml"),
        ("people.csv --quasi age -k 5 --method magic", "There is no method magic"),
        ("people.csv --quasi age -k 5 --objective beauty", "There is no objective beauty"),
        ("people.csv --quasi age -k 5 --hierarchy age=nowhere.csv", "which does not exist"),
        ("people.csv --quazi age -k 5", "--quazi"),
    ],
)
def test_what_is_misspelled_is_told_before_searches_and_attacks_are_loaded(
    folder: Path, words: str, said: str
) -> None:
    run = (
        "import sys; from discreet.cli.main import main\n"
        "heavy = ('discreet.anonymity.search', 'discreet.attacks', 'altair')\n"
        "try: main()\nfinally: print([name for name in heavy if name in sys.modules])"
    )
    command = [sys.executable, "-c", run, "anonymize", *words.split()]
    (folder / "privacy.yaml").unlink()
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert said in " ".join(told.stderr.split())
    assert told.stdout.split() == ["[]"]


def test_numbers_and_counts_are_worded_as_people_read_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ("--l-diversity", "disease:20/13:probabilistic", "--t-closeness", "disease:0.01:equal")
    assert publish(folder, "-k", "60", *models) == 0
    told = " ".join(capsys.readouterr().out.split())
    for words in ("probabilistic 1.538-diversity", "1 percentage point above", "60 of 60 rows in 1 class "):
        assert words in told
    assert discreet("anonymize", str(folder / "people.csv"), "-k", "5") == 2
    assert "anonymize: the table has no quasi-identifiers." in " ".join(capsys.readouterr().err.split())


def test_the_package_runs_as_a_module() -> None:
    told = subprocess.run([sys.executable, "-m", "discreet", "--help"], capture_output=True, check=True)
    assert b"anonymize" in told.stdout
