"""Reports are counted alike wherever they stand: codes, bits, cohorts, baskets; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from discreet.belief import Promise
from discreet.local.baskets import BasketOperator, SelectASize, pack_baskets
from discreet.local.report_formats import count_stored_reports
from discreet.services.collect.collect_requests import RandomizeRequest
from discreet.services.collect.operators import load_operator
from discreet.services.collect.randomize import find_clients
from discreet.services.policy_engines import open_table_engine
from tests.conftest import seeded
from tests.engines.servers import PostgresServer, Server, spark_by_night
from tests.engines.support import shows
from tests.engines.test_asking import address
from tests.services.test_promise import discreet

REPORTS = Path("reports.parquet")

OPERATORS = {
    "kary": "{operator: kary-response, values: 5, epsilon: 1}",
    "hadamard": "{operator: hadamard-response, values: 5, epsilon: 1}",
    "unary": "{operator: unary-encoding, values: 70, epsilon: 1}",
    "rappor": "{operator: rappor, values: 5, width: 16, hashes: 2, cohorts: 3, f: 0.5, p: 0.5, q: 0.75}",
    "hashing": "{operator: local-hashing, values: 5, epsilon: 1}",
    "subset": "{operator: subset-selection, values: 12, epsilon: 1}",
    "mean": "{operator: two-point-mean, values: 5, truth: 0.75, low: 0, high: 4}",
    "baskets": "{operator: select-a-size, items: 6, size: 2, epsilon: 2}",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def described(name: str) -> str:
    """The file of an operator."""
    path = Path(f"{name}.yaml")
    path.write_text(OPERATORS[name])
    return str(path)


def sent(name: str, clients: int = 300) -> pa.Table:
    """The reports of clients."""
    operator, _ = load_operator(Path(described(name)))
    x = np.arange(clients) % 5
    return operator.report_format.to_arrow(operator.randomize(x, seeded(3)))


def in_file(tables: dict[str, pa.Table]) -> str:
    """The address of a DuckDB file with the tables."""
    with duckdb.connect("kept.duckdb") as connection:
        for name, table in tables.items():
            connection.register("arriving", table)
            connection.execute(f"CREATE TABLE {name} AS FROM arriving")
            connection.unregister("arriving")
    return "duckdb:///kept.duckdb"


def estimated(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert discreet("collect", "estimate", *words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert discreet("collect", "estimate", *words) != 0
    return " ".join(capsys.readouterr().err.split())


@shows("`collect estimate`, of every kind of reports")
def test_reports_are_counted_alike_wherever_they_stand(server: Server) -> None:
    tables = {name: sent(name) for name in OPERATORS}
    there = server.put(tables)
    for name, table in tables.items():
        operator, _ = load_operator(Path(f"{name}.yaml"))
        at_hand = operator.report_format.count(operator.report_format.from_arrow(table))
        with open_table_engine(address(server), "reports", there[name]) as engine:
            counted = count_stored_reports(operator.report_format, engine, "reports")
        assert counted.clients == at_hand.clients == 300
        assert (counted.cells == at_hand.cells).all(), name


@pytest.mark.parametrize("name", ["kary", "hadamard", "unary"])
def test_the_command_estimates_alike_from_every_engine(
    server: Server, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = {name: sent(name)}
    told = ("--operator", described(name))
    found = estimated(capsys, server.put(tables)[name], "--engine", address(server), *told)
    assert found == estimated(capsys, name, "--engine", in_file(tables), *told)
    assert found["clients"] == 300


def test_a_path_of_spark_may_carry_its_operator(
    spark: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "answers.csv").write_text("ill\n" + "no\nyes\nno\n" * 50)
    randomize = ("collect", "randomize", "answers.csv", "--column", "ill", "--values", "no,yes")
    assert discreet(*randomize, "--promise", "1%:5%", "-o", "sent.parquet") == 0
    capsys.readouterr()
    found = estimated(capsys, "sent.parquet", "--engine", address(spark))
    assert found == estimated(capsys, "sent.parquet")
    assert [each["value"] for each in found["estimates"]] == ["no", "yes"]


def test_a_csv_path_of_spark_is_counted(
    spark: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "\n".join(map(str, sent("kary")["report"].to_pylist()))
    (here / "sent.csv").write_text(f"report\n{rows}\n")
    words = ("sent.csv", "--operator", described("kary"))
    assert estimated(capsys, *words, "--engine", address(spark)) == estimated(capsys, *words)


@spark_by_night
def test_what_is_no_report_of_the_operator_is_refused(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = {
        "other": pa.table({"answer": [1, 2]}),
        "texts": pa.table({"report": ["1", "2"]}),
        "floats": pa.table({"report": [1.0, 2.4]}),
        "empty": pa.table({"report": pa.array([1, None], pa.int64())}),
        "beyond": pa.table({"report": [1, 5]}),
        "words": pa.table({"w0": ["1", "2"], "w1": ["1", "2"]}),
        "spare": pa.table({"w0": [1, -1], "w1": [1, 1 << 6]}),
        "missing": pa.table({"w0": pa.array([1, None], pa.int64()), "w1": [0, 0]}),
        "none": pa.table({"report": pa.array([], pa.int64())}),
    }
    there = server.put(strange)

    def said(table: str, operator: str) -> str:
        return refused(capsys, there[table], "--engine", address(server), "--operator", described(operator))

    assert "not those of this operator" in said("other", "kary")
    assert "empty or not integers" in said("texts", "kary")
    assert "empty or not integers" in said("floats", "kary")
    assert "empty or not integers" in said("empty", "kary")
    assert "codes from 0 to 4" in said("beyond", "kary")
    assert "not those of this operator" in said("words", "unary")
    assert "it sends 70 bits" in said("spare", "unary")
    assert "it sends 70 bits" in said("missing", "unary")
    assert "no reports yet" in said("none", "kary")


def test_a_table_needs_its_operator_and_a_place(
    postgres: PostgresServer, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = in_file({"kary": sent("kary")})
    operator = ("--operator", described("kary"))
    assert "which operator made its reports" in refused(capsys, "kary", "--engine", postgres.url)
    assert "which operator made its reports" in refused(capsys, "kary", "--engine", file)
    assert "no such table" in refused(capsys, "nowhere", "--engine", postgres.url, *operator)
    assert "no such table" in refused(capsys, "nowhere", "--engine", file, *operator)
    assert "no such file" in refused(capsys, "kary", "--engine", "duckdb:///gone.duckdb", *operator)
    assert "--engine must be" in refused(capsys, "kary", "--engine", "oracle://x", *operator)


ANSWERS = pa.table(
    {
        "disease": ["flu", "flu", "none", None, "a cold", "none "],
        "age": [" 30", "007", "31", None, "many", "1e400"],
        "pay": [1.5, -2.0, float("nan"), None, 9e9, 7.25],
    }
)
DECLARED = {
    "disease": {"type": "category", "values": ["flu", "none", "gout"]},
    "age": {"type": "integer", "low": 0, "high": 90},
    "pay": {"type": "decimal", "low": 0, "high": 10, "resolution": 0.01},
}


@shows("`collect randomize` of values and numbers")
@spark_by_night
def test_answers_are_looked_up_alike_and_charged_wherever_they_stand(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(ANSWERS, here / "answers.parquet")
    places = {"duckdb": "answers.parquet", address(server): server.put({"answers": ANSWERS})["answers"]}
    asked = ({"column": "disease"}, {"column": "age"}, {"column": "pay", "mean": True, "other": "0"})
    found = []
    for number, (engine, source) in enumerate(places.items()):
        path = here / f"policy{number}.yaml"
        tables = {"answers": {"source": source, "columns": DECLARED}}
        terms = {"promise": {"prior": "1%", "posterior": "50%"}, "engine": engine, "tables": tables}
        path.write_text(yaml.safe_dump({**terms, "ledger": f"{number}.db"}))
        for each in asked:
            clients = find_clients(RandomizeRequest(table="answers", policy=path, out=REPORTS, **each), None)
            operator = clients.choose_operator(Promise(0.01, 0.5))
            with clients.answers.open_publisher(*clients.extra_columns) as opened:
                found.append(clients.read_values(operator, opened).tolist())
        words = (
            "collect",
            "randomize",
            "answers",
            "--column",
            "disease",
            "--policy",
            str(path),
            "--spend-all",
            "--json",
        )
        assert discreet(*words, "-o", f"reports{number}.parquet") == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["clients"], told["entry"]) == (len(ANSWERS), 1)
    assert found[:3] == found[3:]


BOUGHT = pa.table(
    {
        "who": ["ann", "ann", "ann", "bob", "cid", "cid", "", None, "dot", "eve"],
        "item": ["milk", "bread", "milk", "tea", "tea", "rum", "milk", "tea", None, "Milk"],
    }
)
SHOP = {
    "person": "who",
    "rows_per_person": 9,
    "columns": {
        "who": {"role": "identifier"},
        "item": {"type": "category", "values": ["milk", "bread", "tea"]},
    },
}
BASKETS = ("collect", "randomize", "bought", "--column", "item", "--size", "2", "--spend-all", "--json")


def shop(engine: str, source: str) -> Path:
    """A policy over what was bought, with a ledger of its own."""
    path = Path(f"{engine.partition(':')[0]}.yaml")
    terms = {"promise": {"prior": "1%", "posterior": "50%"}, "engine": engine, "ledger": f"{path.stem}.db"}
    path.write_text(yaml.safe_dump({**terms, "tables": {"bought": {"source": source, **SHOP}}}))
    return path


@shows("`collect randomize` of baskets, a row for each item")
@spark_by_night
def test_baskets_are_looked_up_alike_and_charged_wherever_they_stand(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(BOUGHT, here / "bought.parquet")
    places = {"duckdb": "bought.parquet", address(server): server.put({"bought": BOUGHT})["bought"]}
    found = []
    for engine, source in places.items():
        path = shop(engine, source)
        for other in (None, "tea"):
            asked = RandomizeRequest(
                table="bought", policy=path, column="item", out=REPORTS, size=2, basket="who", other=other
            )
            clients = find_clients(asked, None)
            operator = clients.choose_operator(Promise(0.01, 0.5))
            with clients.answers.open_publisher(*clients.extra_columns) as opened:
                found.append(sorted(clients.read_values(operator, opened).ravel().tolist()))
        assert discreet(*BASKETS, "--basket", "who", "--policy", str(path), "-o", "reports.parquet") == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["clients"], told["entry"]) == (6, 1)
    milk, bread, tea = 1, 2, 4
    known = sorted([milk | bread, tea, tea, milk, 0, 0])
    assert found == [known, sorted([milk | bread, tea, tea, milk, 0, tea])] * 2


LISTS = pa.table(
    {
        "items": [["milk", "tea", "milk"], [], None, ["tea", "milk", "milk"], ["rum", None], [None], ["tea"]],
        "Numbers": [[7, 8], [8, 7], None, [], [7, None, 9], [7, 8], [None]],
        "shares": [[-0.0], [0.0], [0.5, 1.0], [float("nan")], [], None, [1e300, None]],
        "words": [["NULL"], ['a,"b"', "{}"], ["", " "], ["ß", "null"], ["SS", "it's"], ["\\"], [None, "ß"]],
        "single": ["milk", "tea", None, "", "rum", "milk", "tea"],
    }
)
ITEMS_OF = {
    "items": {"type": "category", "values": ["milk", "bread", "tea"]},
    "numbers": {"type": "integer", "low": 7, "high": 9},
    "shares": {"type": "category", "values": ["0.0", "0.5", "1.0"]},
    "words": {"type": "category", "values": ["NULL", 'a,"b"', "{}", "ß", "it's", "\\"]},
    "single": {"type": "text"},
}


def listed(engine: str, source: str) -> Path:
    """A policy over lists of items, with a ledger of its own."""
    path = Path(f"{engine.partition(':')[0]}.yaml")
    terms = {"promise": {"prior": "1%", "posterior": "50%"}, "engine": engine, "ledger": f"{path.stem}.db"}
    tables = {"bought": {"source": source, "columns": ITEMS_OF}}
    path.write_text(yaml.safe_dump({**terms, "tables": tables}))
    return path


def looked_up(path: Path, column: str, other: str | None = None) -> list[int]:
    """What each client holds, a bit for each item."""
    clients = find_clients(
        RandomizeRequest(table="bought", policy=path, column=column, out=REPORTS, size=2, other=other), None
    )
    with clients.answers.open_publisher(*clients.extra_columns) as opened:
        held = clients.read_values(clients.choose_operator(Promise(0.01, 0.5)), opened)
    return sorted(held.ravel().tolist())


@shows("`collect randomize` of baskets that are lists")
def test_lists_of_items_are_looked_up_wherever_they_stand(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = listed(address(server), server.put({"bought": LISTS})["bought"])
    asked = ("collect", "randomize", "bought", "--column", "items", "--size", "2", "--spend-all")
    words = (*asked, "-o", "out.parquet")
    assert discreet(*words, "--policy", str(path), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["clients"], told["entry"]) == (len(LISTS), 1)
    milk, tea = 1, 4
    assert looked_up(path, "items") == [0, 0, 0, 0, tea, milk | tea, milk | tea]


@spark_by_night
def test_lists_are_the_same_baskets_wherever_they_stand(server: Server, here: Path) -> None:
    pq.write_table(LISTS, here / "bought.parquet")
    places = [listed("duckdb", "bought.parquet")]
    places.append(listed(address(server), server.put({"bought": LISTS})["bought"]))
    for path in places:
        assert looked_up(path, "items", "tea") == [0, 0, 0, 4, 4, 5, 5]
        assert looked_up(path, "numbers") == [0, 0, 0, 3, 3, 3, 5]
        assert looked_up(path, "shares") == [0, 0, 0, 0, 1, 1, 6]
        assert looked_up(path, "words") == [0, 1, 2 | 4, 8, 8, 16, 32]


@pytest.mark.parametrize(
    ("kind", "lists"),
    [
        ("varchar(9)", "{milk,tea}"),
        ("text", "{{milk,tea},{tea,rum}}"),
        ("citron", "{milk,tea,NULL}"),
        ("word", "{milk,tea}"),
    ],
    ids=["narrow", "in two dimensions", "domain", "enum"],
)
def test_every_array_of_postgres_is_a_list(
    kind: str, lists: str, postgres: PostgresServer, here: Path
) -> None:
    place = postgres.put({"other": pa.table({"x": [1]})})["other"].partition(".")[0]
    postgres.run(
        f"CREATE DOMAIN {place}.citron AS text",
        f"CREATE TYPE {place}.word AS ENUM ('milk', 'tea', 'rum')",
        f"SET search_path = {place}",
        f"CREATE TABLE {place}.bought AS SELECT CAST('{lists}' AS {kind}[]) AS items, "
        "CAST(NULL AS bigint[]) AS numbers, CAST(NULL AS text[]) AS shares, '' AS words, '' AS single",
    )
    assert looked_up(listed(address(postgres), f"{place}.bought"), "items") == [5]


def test_a_column_of_single_values_has_no_lists(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = listed(address(server), server.put({"bought": LISTS})["bought"])
    terms = yaml.safe_load(path.read_text())
    terms["tables"]["bought"]["columns"]["single"] = ITEMS_OF["items"]
    path.write_text(yaml.safe_dump(terms))
    words = ("collect", "randomize", "bought", "--column", "single", "--size", "2", "-o", "out.parquet")
    assert discreet(*words, "--policy", str(path)) == 2
    assert "Column single has no lists of items." in " ".join(capsys.readouterr().err.split())


ITEMS = "{operator: select-a-size, items: 70, size: 3, epsilon: 5}"


def full_baskets(clients: int = 400) -> tuple[BasketOperator, pa.Table]:
    """Reports of clients most of whom hold the first item, one of the second word, and a third."""
    Path("items.yaml").write_text(ITEMS)
    operator, _ = load_operator(Path("items.yaml"))
    assert isinstance(operator, SelectASize)
    held = [[0, 65, 3 + client % 5] if client % 4 else [7] for client in range(clients)]
    reports = operator.randomize_baskets(pack_baskets(held, 70), seeded(5))
    return operator, operator.report_format.to_arrow(reports)


@shows("`collect mine`: frequent itemsets and rules, from reports")
@spark_by_night
def test_itemsets_are_mined_alike_wherever_their_reports_stand(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    operator, table = full_baskets()
    there, told = server.put({"sent": table})["sent"], ("--support", "20%", "--operator", "items.yaml")
    found = []
    for place in ((there, "--engine", address(server)), ("sent", "--engine", in_file({"sent": table}))):
        assert discreet("collect", "mine", *place, *told, "--json") == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert ["0", "65"] in [each["items"] for each in found[0]["itemsets"]]
    at_hand, pairs = operator.estimate(operator.report_format.from_arrow(table)), [[0, 65], [3, 64], [1, 2]]
    with open_table_engine(address(server), "reports", there) as engine:
        counted = operator.estimate_stored(engine, "reports")
        assert (counted.estimate_each(pairs).supports == at_hand.estimate_each(pairs).supports).all()


def test_what_holds_no_reports_of_baskets_is_not_mined(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = server.put({"other": pa.table({"answer": [1, 2]}), "kary": sent("kary")})
    Path("items.yaml").write_text(ITEMS)

    def said(table: str, operator: str) -> str:
        words = (table, "--engine", address(server), "--support", "9%", "--operator", operator)
        assert discreet("collect", "mine", *words) != 0
        return " ".join(capsys.readouterr().err.split())

    assert "not those of this operator" in said(there["other"], "items.yaml")
    assert "Itemsets are mined from baskets" in said(there["kary"], described("kary"))
    assert "no such table" in said("nowhere", "items.yaml")
