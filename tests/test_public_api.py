"""The public API: its names, their types and examples, what results show of themselves, and who uses it."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import inspect
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet import models
from discreet.belief import Belief
from discreet.services.answers import Answer
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.audit.audit_request import AuditRequest
from discreet.services.bounds.bounds_request import BoundsRequest
from discreet.services.count_requests import ItemsetsRequest, StreamRequest, TabulateRequest
from discreet.services.synthesize.synthesize_request import SynthesizeRequest
from discreet.services.train import TrainRequest
from discreet.sql.releases import IntervalBounds

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "python.md"
SUBMODULES = ("belief", "local", "mining", "models", "results")
PUBLIC = {"discreet", *(f"discreet.{name}" for name in SUBMODULES)}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
USER = """
import discreet
from discreet import Answer, BudgetError, Curator, Plan, Promise, Release
from discreet.models import KAnonymity
from discreet.results import Budget, ReleasedCounts

promise: Promise = Promise(0.01, 0.05, tail=1e-6)
epsilon: float = promise.epsilon


def use(path: str) -> Answer:
    with Curator.open(path) as curator:
        plan: Plan = curator.plan("SELECT COUNT(*) FROM people", within=10)
        budget: Budget = curator.budget
        counts: ReleasedCounts = discreet.tabulate(curator, "people", ["sex"], epsilon=0.1)
        try:
            return curator.ask(plan)
        except BudgetError as refused:
            raise SystemExit(refused.hint) from None


def publish(path: str) -> Release:
    return discreet.anonymize(path, "people", models=[KAnonymity(k=5)], suppress="2%")
"""
FRAMES = """
import duckdb
import pyarrow as pa
from discreet import Policy

rows: pa.Table = pa.table({"age": [34], "sex": ["f"]})
columns = {"age": (0, 120), "sex": ["f", "m"], "smoker": bool}
answer: Answer = discreet.ask(rows, "SELECT COUNT(*) FROM df", columns=columns, epsilon=0.1)
answer = discreet.ask(duckdb.from_arrow(rows), "SELECT 1", columns={"age": (0, 9)}, promise=(0.01, 0.05))
policy: Policy = Policy.draft(rows).fill(columns, person="row")
with Curator({"promise": ("1%", "5%"), "tables": {"df": {"columns": columns}}}, tables={"df": rows}) as asked:
    spent: Budget = asked.budget
with Curator(policy, tables={"df": "people.csv"}, ledger="study.db") as asked:
    answer = asked.ask("SELECT COUNT(*) FROM df", epsilon=0.1)
release: Release = discreet.anonymize(rows, quasi=["age"], sensitive="sex", k=5)
"""
FRAME_ARGUMENTS = {"columns", "person", "rows_per_person", "promise", "ledger", "data_version"}
MISTAKEN = USER + "\nwrong: int = Promise(0.01, 0.05)\ndiscreet.ask('p.yaml', 'SELECT 1', espilon=1)\n"


@pytest.fixture
def folder(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(samples, tmp_path / "sample")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_public_name_is_there_and_listed() -> None:
    assert all(getattr(discreet, name) is not None for name in discreet.__all__)
    assert dir(discreet) == sorted(discreet.__all__)
    assert 28 <= len(discreet.__all__) <= 36


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'discreet' has no attribute 'asks'"):
        _ = discreet.asks


def test_importing_discreet_loads_nothing_else() -> None:
    script = "import sys, discreet; print([m for m in sys.modules if m.startswith(('discreet.', 'pyarrow'))])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_version_is_that_of_the_distribution() -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert discreet.__version__ == described


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(inspect.getfile(discreet)).parent / "py.typed").is_file()


def _check_types(text: str, folder: Path) -> str:
    script = folder / "user.py"
    script.write_text(text)
    command = [
        *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file="),
        *(f"--cache-dir={folder / 'cache'}", "--ignore-missing-imports", str(script)),
    ]
    source = str(Path(inspect.getfile(discreet)).parents[1])
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env={"MYPYPATH": source}
    )
    return done.stdout


@pytest.mark.night
def test_a_users_script_type_checks_strictly(tmp_path: Path) -> None:
    assert _check_types(USER + FRAMES, tmp_path).startswith("Success")
    assert 'has incompatible type "int"' in _check_types(USER + "discreet.ask(3, 'SELECT 1')", tmp_path)
    found = _check_types(MISTAKEN, tmp_path)
    assert 'expression has type "Promise", variable has type "int"' in found
    assert 'Unexpected keyword argument "espilon"' in found


@pytest.mark.parametrize(
    ("verb", "request_type"),
    [
        (discreet.attack, AttackRequest),
        (discreet.audit, AuditRequest),
        (discreet.itemsets, ItemsetsRequest),
        (discreet.learn_bounds, BoundsRequest),
        (discreet.open_stream, StreamRequest),
        (discreet.synthesize, SynthesizeRequest),
        (discreet.tabulate, TabulateRequest),
        (discreet.train, TrainRequest),
    ],
)
def test_a_verb_takes_the_fields_of_its_request(verb: Any, request_type: Any) -> None:
    given = set(inspect.signature(verb).parameters) - {"source", "curator", "analyst"}
    fields = (
        {each.name for each in dataclasses.fields(request_type)}
        if dataclasses.is_dataclass(request_type)
        else set(request_type.model_fields)
    )
    allowed = {  # the first is at_most once more
        discreet.attack: {"posterior"},
        discreet.audit: {"policy"},
        discreet.learn_bounds: {"write"},
    }
    takes_frames = "source" in inspect.signature(verb).parameters and verb is not discreet.learn_bounds
    frames = FRAME_ARGUMENTS - fields if takes_frames else set()
    assert frames - given <= {"columns", "promise"}
    assert (given - frames) ^ fields == allowed.get(verb, set())


def test_ask_takes_the_arguments_of_a_curator() -> None:
    given = set(inspect.signature(discreet.ask).parameters) - {"source", "analyst"} - FRAME_ARGUMENTS
    assert given == set(inspect.signature(discreet.Curator.ask).parameters) - {"self", "run_with_deadline"}


def test_a_verb_opens_and_closes_a_curator_for_a_policy(folder: Path) -> None:
    sql = "SELECT sex, COUNT(*) AS people FROM census GROUP BY sex"
    answer = discreet.ask(folder / "sample" / "privacy.yaml", sql, epsilon=0.1)
    with discreet.Curator.open(folder / "sample" / "privacy.yaml") as curator:
        assert discreet.ask(curator, sql, epsilon=0.1).table.equals(answer.table)
        assert discreet.ask(curator, sql, epsilon=0.1).repeated
        assert discreet.ask(curator, curator.plan(sql, epsilon=0.1)).repeated
        with pytest.raises(discreet.RequestError, match="open for analyst, not for bob"):
            discreet.ask(curator, sql, analyst="bob", epsilon=0.1)


def test_every_privacy_model_is_public() -> None:
    assert {each.__name__ for each in models.MODELS} <= set(models.__all__)


@pytest.mark.parametrize(
    "call",
    [
        lambda: discreet.anonymize("sample/privacy.yaml", "hospital", method="magic"),
        lambda: discreet.anonymize("sample/privacy.yaml", "hospital", centres={"age": "mode"}),
        lambda: discreet.anonymize("sample/privacy.yaml", "hospital", k=5, objective="beauty"),
        lambda: discreet.anonymize("sample/privacy.yaml", "hospital", models=["l"]),
        lambda: discreet.anonymize("sample/privacy.yaml", "hospital", models=[5]),  # type: ignore[list-item]
        lambda: discreet.anonymize("sample/privacy.yaml", "hospital", models=["l-diversity disease:two"]),
        lambda: discreet.anonymize("sample/privacy.yaml", "hospital", posterior="often"),
        lambda: discreet.attack("release.csv", at_most=30),
        lambda: discreet.synthesize("sample/privacy.yaml", "census", epsilon=1, quality="great"),  # type: ignore[arg-type]
    ],
    ids=[
        "method",
        "centres",
        "objective",
        "model",
        "no model",
        "form of a model",
        "posterior",
        "at_most",
        "quality",
    ],
)
def test_an_argument_that_cannot_be_is_refused_in_one_sentence(folder: Path, call: Any) -> None:
    assert folder.exists()
    with pytest.raises(discreet.RequestError) as refused:
        call()
    assert "\n" not in refused.value.message
    assert "pydantic" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "choices"),
    [
        ({"k": 5, "objective": "beauty"}, "loss, class-size, discernibility, precision, entropy, ambiguity"),
        ({"models": ["l"]}, "k, k-map, delta-presence, l-diversity, t-closeness, alpha, p-sensitive"),
    ],
)
def test_a_wrong_choice_is_refused_with_the_choices(
    folder: Path, arguments: dict[str, Any], choices: str
) -> None:
    with pytest.raises(discreet.RequestError, match=choices):
        discreet.anonymize(folder / "sample" / "privacy.yaml", "hospital", **arguments)


def test_models_and_objective_are_also_texts_of_the_command_line(folder: Path) -> None:
    policy = folder / "sample" / "privacy.yaml"
    texts = ["k=5", "l-diversity disease:2:distinct", "--alpha disease:0.9"]
    release = discreet.anonymize(policy, "hospital", models=texts, objective="precision", suppress="9%")
    assert [type(each) for each in release.goal.models] == [
        models.KAnonymity,
        models.DistinctDiversity,
        models.AlphaKAnonymity,
    ]
    assert release.goal.objective.name == "precision"
    capped = discreet.anonymize(policy, "hospital", k=5, posterior="90%:equal", suppress="9%")
    assert isinstance(capped.goal.models[-1], models.EqualCloseness)


def test_a_release_needs_a_model_as_on_the_command_line(folder: Path) -> None:
    assert folder.exists()
    with pytest.raises(discreet.RequestError, match=r"no privacy model is given. Start with `k=5`"):
        discreet.anonymize("sample/privacy.yaml", "hospital")
    with pytest.raises(discreet.RequestError, match=r"`unit=` must be row; got x"):
        discreet.anonymize("sample/privacy.yaml", "hospital", k=5, unit="x")


def test_a_population_is_a_table_of_the_policy_or_a_file(folder: Path) -> None:
    policy = {
        "tables": {
            "people": {
                "source": str(folder / "people.csv"),
                "columns": {"sex": {"type": "category", "values": ["f", "m"], "role": "quasi"}},
            }
        }
    }
    (folder / "people.csv").write_text("sex\n" + "f\n" * 3)
    (folder / "town.csv").write_text("sex\n" + "f\n" * 9)
    declared = discreet.Policy.model_validate(policy)
    asked: dict[str, Any] = {"models": [models.KMap(k=9)], "population": str(folder / "town.csv")}
    assert discreet.anonymize(declared, "people", **asked).fraction == pytest.approx(1 / 3)
    with pytest.raises(discreet.DiscreetError, match="nowhere"):
        discreet.anonymize(declared, "people", k=2, population="nowhere")


def test_identifiers_are_published_as_pseudonyms_of_a_key_file(folder: Path) -> None:
    columns = {"name": {"role": "identifier"}, "sex": {"type": "category", "values": ["f"], "role": "quasi"}}
    tables = {"people": {"source": str(folder / "people.csv"), "columns": columns}}
    (folder / "people.csv").write_text("name,sex\n" + "".join(f"p{i},f\n" for i in range(4)))
    declared = discreet.Policy.model_validate({"tables": tables})
    release = discreet.anonymize(declared, "people", k=2, pseudonyms="name", key=folder / "secret.key")
    shown = release.to_arrow(force=True).column("name").to_pylist()
    assert len({*shown}) == 4
    assert not any(each.startswith("p") for each in shown)
    with pytest.raises(discreet.RequestError, match="`pseudonyms=` and `key=` go together"):
        discreet.anonymize(declared, "people", k=2, pseudonyms="name")


def test_one_column_may_be_named_alone(folder: Path) -> None:
    counts = discreet.tabulate("sample/privacy.yaml", "census", "sex", epsilon=0.1)
    assert counts.rows.column_names[0] == "sex"


def test_pairs_may_be_given_as_the_command_line_has_them(folder: Path) -> None:
    rows = ["name,zip,disease", "Joe,13053,flu", "Ann,14850,gout"]
    (folder / "release.csv").write_text("\n".join(rows))
    asked: dict[str, Any] = {"knows": "release.csv", "quasi": "zip", "sensitive": "disease"}
    (given, typed) = (
        discreet.attack("release.csv", victim=who, **asked) for who in ({"name": "Joe"}, "name=Joe")
    )
    assert typed.knowledge == given.knowledge
    policy = "sample/privacy.yaml"
    counts = discreet.tabulate(policy, "census", "age", bins="age=3", epsilon=0.01)
    assert counts.rows.num_rows == 3
    wrong: list[tuple[Any, str]] = [
        ("age", "got age"),
        ("age=x", "got age=x"),
        (7, "got 7"),
        ({"age": "x"}, "bins"),
    ]
    for refused, words in wrong:
        with pytest.raises(discreet.RequestError, match=words):
            discreet.tabulate(policy, "census", "age", bins=refused, epsilon=0.01)
    with pytest.raises(discreet.RequestError, match="COLUMN=VALUE; got Joe"):
        discreet.attack("release.csv", victim="Joe", **asked)


def test_the_budget_tells_what_is_spent_and_left(folder: Path) -> None:
    assert folder.exists()
    with discreet.Curator.open("sample/privacy.yaml") as curator:
        whole = curator.budget.left
        curator.ask("SELECT COUNT(*) FROM census WHERE age > 30", epsilon=0.25)
        budget = curator.budget
    assert isinstance(budget.left, type(whole))
    assert repr(budget) == "<Budget: epsilon 0.25 spent, epsilon 1.40068 left>"
    assert budget.belief.highest < 0.05
    assert budget.sentence in budget._repr_html_()


def _write_example_files(folder: Path) -> None:
    """Write the files that examples of the reference page name, besides the samples."""
    (folder / "release.csv").write_text("zip,age,disease\n130**,< 30,Flu\n130**,< 30,Cancer\n")
    (folder / "town.csv").write_text("name,zip,age\nBob,13053,21\n")
    columns = "".join(f"\n      {name}: {{type: boolean, nulls: false}}" for name in ("tea", "milk", "bread"))
    (folder / "baskets.yaml").write_text(
        "promise: {prior: 1%, posterior: 5%}\nledger: baskets.db\ntables:\n  baskets:\n"
        f"    source: baskets.csv\n    rows: 200\n    columns:{columns}\n"
    )
    (folder / "census.yaml").write_text(
        "promise: {prior: 1%, posterior: 5%}\nledger: census.db\ntables:\n  census:\n"
        "    source: sample/census.parquet\n    columns: {age: {type: integer, low: ?, high: ?}}\n"
    )
    (folder / "baskets.csv").write_text("tea,milk,bread\n" + "true,true,false\n" * 200)


EXAMPLE_BLOCKS = re.findall(r"```pycon\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_reference_page_has_examples() -> None:
    assert len(EXAMPLE_BLOCKS) >= 16


@pytest.mark.parametrize("block", EXAMPLE_BLOCKS, ids=lambda block: block[4:24])
def test_an_example_of_the_reference_page_runs(
    folder: Path, block: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_example_files(folder)
    names = {name: getattr(discreet, name) for name in discreet.__all__}
    runner = doctest.DocTestRunner(_SameForm(), optionflags=doctest.ELLIPSIS)
    runner.run(doctest.DocTestParser().get_doctest(block, names, "example", None, None))
    assert runner.failures == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "name", [each for each in discreet.__all__ if inspect.isfunction(getattr(discreet, each))]
)
def test_the_reference_page_says_what_every_argument_of_a_verb_is(name: str) -> None:
    section = PAGE.read_text().partition(f"### {name}\n")[2].partition("\n##")[0]
    described = set(re.findall(r"^\| `(\w+)` \| \S", section, re.MULTILINE))
    assert set(inspect.signature(getattr(discreet, name)).parameters) <= described


class _SameForm(doctest.OutputChecker):
    """Compares numbers of rows and costs by their form: noise makes them different each time."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        alike = [re.sub(r"[\d,]+ rows?|epsilon [\d.]+", "N", text) for text in (want, got)]
        return super().check_output(alike[0], alike[1], optionflags)


def _imported_modules(source: str) -> set[str]:
    """The modules of ours that a program imports; names from `discreet` may be submodules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "discreet":
                assert {each.name for each in node.names} <= set(discreet.__all__)
    return {name for name in found if name.partition(".")[0] == "discreet"}


def _python_of(path: Path) -> list[str]:
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text())["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    if path.suffix == ".md":
        return re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    return [path.read_text()]


@pytest.mark.parametrize(
    "path",
    [*EXAMPLES, *NOTEBOOKS, ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda path: path.name,
)
def test_examples_notebooks_and_pages_import_public_modules_alone(path: Path) -> None:
    for source in _python_of(path):
        assert _imported_modules(source) <= PUBLIC, path.name


def _answer(table: pa.Table) -> Answer:
    belief = Belief(prior=0.01, highest=0.02, lowest=0.005, tail=0)
    ends: IntervalBounds = ([30.0] * table.num_rows, [50.0] * table.num_rows)
    return Answer(
        table=table,
        intervals={"n": ends},
        confidence=0.95,
        epsilon=0.1,
        belief=belief,
        entries=(1,),
        sentence="An attacker <b>can</b> now be at most 2% sure.",
    )


def test_the_html_of_an_answer_has_error_bars_and_no_markup_of_the_data() -> None:
    answer = _answer(pa.table({"sex": ["<script>alert(1)</script>"], "n": [40]}))
    html = answer._repr_html_()
    assert "40 ± 10" in html
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "<b>" not in html
    assert repr(answer) == "<Answer of 1 row (sex, n): epsilon 0.1 (entry 1)>"


def test_the_html_of_a_long_answer_says_how_many_rows_it_leaves_out() -> None:
    html = _answer(pa.table({"age": list(range(100)), "n": [40] * 100}))._repr_html_()
    assert html.count("<tr>") == 20 + 1 + 2
    assert "… 80 more rows" in html


def test_what_a_session_returns_shows_itself_in_one_line_without_values(folder: Path) -> None:
    assert folder.exists()
    policy = "sample/privacy.yaml"
    release = discreet.anonymize(policy, "hospital", k=5, suppress="2%")
    evaluation = discreet.attack(release)
    with discreet.Curator.open(policy) as curator:
        plan = curator.plan("SELECT sex, COUNT(*) AS people FROM census GROUP BY sex", epsilon=0.1)
        counts = discreet.tabulate(curator, "census", ["sex"], epsilon=0.1)
        shown = [curator, curator.policy, curator.budget, curator.promise, plan, curator.ask(plan), counts]
    shown += [release, evaluation, discreet.audit("laplace", runs=1_000)]
    for each in shown:
        assert "\n" not in repr(each)
        assert len(repr(each)) < 200
    for each in (release, evaluation):
        text = repr(each)
        assert f"{release.tuples.rows:,}" not in text
        assert str(release.suppressed_count) not in text.replace("5-anonymity", "")
    html = release._repr_html_()
    assert "5-anonymity" in html
    assert str(len(release.classes)) not in html
    assert "For the custodian only" in evaluation._repr_html_()


def test_what_is_estimated_from_reports_shows_itself_in_one_line_and_as_a_table() -> None:
    response = discreet.local.KaryResponse.for_epsilon(3, values=30)
    shares = response.estimate(response.randomize(np.arange(300) % 30))
    assert repr(shares) == "<FrequencyEstimate of 30 values by KaryResponse: 300 clients>"
    assert repr(shares.counts) == "<ReportCounts of 300 clients>"
    html = shares._repr_html_()
    assert html.count("<tr>") == 20 + 2  # a heading and the clients
    assert "… 10 more rows" in html
    operator = discreet.local.TwoPointMean.for_epsilon(3, low=0, high=10)
    mean = operator.estimate(operator.randomize(operator.encode([5.0] * 300)))
    low, high = mean.interval()
    assert re.fullmatch(r"<MeanEstimate [-\d.]+ by TwoPointMean: 300 clients>", repr(mean))
    assert f"{low:.4g} to {high:.4g}" in mean._repr_html_()


def test_a_stream_an_anonymizer_and_a_belief_show_what_was_asked_for(folder: Path) -> None:
    assert folder.exists()
    found = discreet.Anonymizer("sample/privacy.yaml", models=[models.KAnonymity(k=5)])
    assert repr(found) == "<Anonymizer of census, hospital: generalize, 5-anonymity>"
    with discreet.Curator.open("sample/privacy.yaml") as curator:
        stream = discreet.open_stream(curator, "census", ["sex"], questions=9, epsilon=0.1)
        html = stream._repr_html_()
        assert "Stream over census" in html
        assert stream.sentence in html
        assert "0 of 9 asked" in html
        stream.ask("SELECT COUNT(*) FROM census WHERE sex = 'Female'")
        assert "1 of 9 asked" in stream._repr_html_()
        belief = curator.budget.belief
        assert f"{100 * belief.prior:g}%" in belief._repr_html_()


def test_a_policys_repr_has_no_address() -> None:
    table = {"source": "clinic.people", "columns": {"age": {}}}
    address = {"engine": "postgresql://me:secret@db/clinic", "ledger": "postgresql://me:secret@db/ledger"}
    policy = discreet.Policy.model_validate({"tables": {"people": table}} | address)
    assert repr(policy) == str(policy) == "<Policy of people: no promise>"


def test_a_promise_is_shown_as_the_call_that_makes_it() -> None:
    made = discreet.Promise(0.01, 0.05, secret="presence", group=4, tail=1e-6)
    assert repr(made) == "Promise(0.01, 0.05, secret='presence', group=4, tail=1e-06)"
    assert eval(repr(made), {"Promise": discreet.Promise}) == made


def test_samplers_of_ones_own_are_audited() -> None:
    sure = discreet.audit((lambda runs: [0] * runs, lambda runs: [1] * runs), epsilon=1, runs=1_000)
    assert not sure.holds
