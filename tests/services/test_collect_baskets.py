"""Baskets by command: randomized, their items' supports estimated, itemsets and rules mined."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.services.collect import estimate
from tests.services.test_promise import discreet

SURE = "99.9999999%"
ITEMS = ("bread", "butter", "milk", "beer", "crisps", "wine", "tea", "salt")
BASKETS: tuple[tuple[Sequence[str], int], ...] = (
    (("bread", "butter"), 8_000),
    (("bread", "milk"), 2_000),
    (("beer", "crisps", "salt"), 6_000),
    ((), 4_000),
)
POLICY = """
promise: {prior: 5%, posterior: 50%}
tables:
  shop:
    source: shop.csv
    person: customer
    rows_per_person: 10
    columns:
      customer: {type: text, role: identifier}
      receipt: {type: text}
      item: {type: category, values: [bread, butter, milk, beer, crisps, wine, tea, salt]}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same baskets as rows and as lists; who has nothing has a row without an item, or an empty list."""
    monkeypatch.chdir(tmp_path)
    lists = [list(items) for items, people in BASKETS for _ in range(people)]
    rows = [f"c{n},r{n},{item}" for n, items in enumerate(lists) for item in (*items, *items[:1]) or ("",)]
    (tmp_path / "shop.csv").write_text("\n".join(["customer,receipt,item", *rows]) + "\n")
    pq.write_table(pa.table({"items": pa.array(lists, pa.list_(pa.string()))}), tmp_path / "shop.parquet")
    (tmp_path / "items.txt").write_text("\n".join(ITEMS) + "\n\n")
    return tmp_path


AS_ROWS = ("shop.csv", "--column", "item", "--basket", "customer", "--size", "3")
AS_LISTS = ("shop.parquet", "--column", "items", "--size", "3")
DECLARED = ("--values-from", "items.txt", "--promise", "5%:50%")


def randomize(*words: str, out: str = "reports.parquet") -> int:
    return discreet("collect", "randomize", *words, "-o", out, "--spend-all")


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def support(*items: str) -> float:
    people = sum(count for held, count in BASKETS if set(items) <= set(held))
    return people / sum(count for _, count in BASKETS)


@pytest.mark.parametrize("words", [AS_ROWS, AS_LISTS], ids=["rows", "lists"])
def test_supports_are_estimated_from_the_reports_alone(
    words: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert randomize(*words, *DECLARED) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "20,000, by select-a-size over baskets of 3 of 8 items" in told
    assert "3 random ones are used" in told
    for file in ("shop.csv", "shop.parquet", "items.txt"):
        (here / file).unlink()
    assert discreet("collect", "estimate", "reports.parquet", "--confidence", SURE, "--json") == 0
    found = shown(capsys)
    assert [each["item"] for each in found["items"]] == list(ITEMS)
    assert found["belief"] == {"prior": 0.05, "posterior": pytest.approx(0.5)}
    for each in found["items"]:
        assert each["low"] <= support(each["item"]) <= each["high"]
    assert discreet("collect", "estimate", "reports.parquet", "--plot", "items.svg") == 0
    assert "butter" in (here / "items.svg").read_text()


def mine(*words: str) -> int:
    return discreet("collect", "mine", "reports.parquet", *words)


def test_itemsets_and_rules_are_mined_under_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Supports of 30% and more are found at these errors, of about 1%, but for one case in 10**9."""
    assert randomize(*AS_ROWS, *DECLARED, "--json") == 0
    capsys.readouterr()
    assert mine("--support", "5%", "--strength", "50%", "--confidence", SURE, "--json") == 0
    found = shown(capsys)
    sets = {tuple(each["items"]): each for each in found["itemsets"]}
    assert {("bread", "butter"), ("beer", "crisps")} <= set(sets)
    for items, each in sets.items():
        assert support(*items) >= 0.05
        assert each["low"] <= support(*items) <= each["high"]
    rules = {(tuple(each["given"]), tuple(each["then"])) for each in found["rules"]}
    assert {(("butter",), ("bread",)), (("crisps",), ("beer",))} <= rules
    for given, then in rules:
        assert support(*given, *then) >= 0.5 * support(*given)


def test_what_was_mined_is_shown_with_how_sure_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert randomize(*AS_LISTS, *DECLARED, "--json") == 0
    capsys.readouterr()
    assert mine("--support", "20%") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "bread, butter" in told
    assert "butter bread" in told
    assert "The chance that any itemset listed is wrong is at most 5%" in told
    assert mine("--support", "99%") == 0
    assert "No itemset is in 99% of the baskets beyond doubt." in capsys.readouterr().out


def test_the_same_is_mined_where_the_engine_counts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert randomize(*AS_LISTS, *DECLARED, "--json") == 0
    capsys.readouterr()
    assert mine("--support", "5%", "--json") == 0
    here = shown(capsys)
    monkeypatch.setattr(estimate, "MAX_WORDS_IN_MEMORY", 0)
    assert mine("--support", "5%", "--json") == 0
    assert shown(capsys) == here


def test_one_report_tells_of_no_itemset(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"items": [["bread", "butter"]]}), here / "shop.parquet")
    for _ in range(20):
        assert randomize(*AS_LISTS, *DECLARED, "--json") == 0
        capsys.readouterr()
        assert mine("--support", "0.1%", "--json") == 0
        assert shown(capsys)["itemsets"] == []


def test_items_and_people_come_from_the_policy_and_its_ledger_is_charged(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    words = ("shop", "--column", "item", "--size", "3")
    assert randomize(*words, "--basket", "customer", "--promise", "5%:40%", "--json") == 0
    found = shown(capsys)
    assert (found["entry"], found["clients"], found["values"]) == (1, 20_000, 8)
    assert randomize(*words, "--basket", "customer", "--promise", "5%:40%", out="again.parquet") == 3
    assert not Path("again.parquet").exists()
    capsys.readouterr()
    assert randomize(*words, "--basket", "receipt") == 2
    assert "may have several baskets" in " ".join(capsys.readouterr().err.split())
    assert randomize(*words) == 2
    assert "may have several rows" in " ".join(capsys.readouterr().err.split())


def test_items_outside_of_the_domain_are_neither_named_nor_counted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "items.txt").write_text("bread\nbutter\nmilk\nbeer\nother\n")
    assert randomize(*AS_ROWS, *DECLARED) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "Some items in item are not among the 5 listed ones." in told
    assert "crisps" not in told
    assert "000" not in told
    assert randomize(*AS_ROWS, *DECLARED, "--other", "other", "--json") == 0
    capsys.readouterr()
    assert discreet("collect", "estimate", "reports.parquet", "--confidence", SURE, "--json") == 0
    other = shown(capsys)["items"][-1]
    assert other["low"] <= support("crisps") <= other["high"]


def test_reports_do_not_stand_in_the_order_of_the_baskets() -> None:
    assert randomize(*AS_LISTS, *DECLARED) == 0
    words = pq.read_table("reports.parquet")["w0"].to_numpy().view(np.uint64)
    assert np.all(words[1:] >= words[:-1])


def test_an_operator_of_baskets_says_by_itself_how_many_items_are_used(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--promise", "5%:50%", "--items", "8", "--size", "3", "--clients", "20000")
    assert discreet("collect", "design", *words, "-o", "operator.yaml", "--json") == 0
    best = shown(capsys)["designs"][0]
    assert best["operator"]["operator"] == "select-a-size"
    listed = ("shop.parquet", "--column", "items", "--values-from", "items.txt")
    assert randomize(*listed, "--operator", "operator.yaml", "--json") == 0
    assert shown(capsys)["operator"] == best["operator"]
    (here / "cut.yaml").write_text("operator: cut-and-paste\nitems: 8\nsize: 3\ncutoff: 2\nnoise: 30%\n")
    assert randomize(*listed, "--operator", "cut.yaml", "--json") == 0
    assert shown(capsys)["operator"]["operator"] == "cut-and-paste"


def test_a_strict_promise_leaves_the_operators_that_tell_of_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--promise", "1%:2%", "--items", "8", "--size", "3", "--clients", "20000")
    assert discreet("collect", "design", *words, "--json") == 0
    assert [each["operator"]["operator"] for each in shown(capsys)["designs"]] == ["select-a-size"]


BAD: list[tuple[tuple[str, ...], str]] = [
    (
        ("shop.csv", "--column", "item", "--basket", "customer", *DECLARED),
        "number of items used per basket",
    ),
    (("shop.csv", "--column", "item", "--size", "3", *DECLARED), "--basket COLUMN"),
    (("shop.csv", "--column", "item", "--basket", "buyer", "--size", "3", *DECLARED), "has no column buyer"),
    ((*AS_ROWS, "--promise", "5%:50%"), "never taken from the data"),
    ((*AS_ROWS, *DECLARED, "--values", "a,b"), "give one of them"),
    ((*AS_ROWS, *DECLARED, "--other", "soap"), "one of the values"),
    ((*AS_ROWS, "--promise", "5%:50%", "--values-from", "nowhere.txt"), "cannot be read"),
    ((*AS_ROWS, "--promise", "5%:50%", "--values-from", "twice.txt"), "two different values"),
    ((*AS_ROWS[:-1], "9", *DECLARED), "at most 8"),
    ((*AS_ROWS, *DECLARED, "--operator", "shares.yaml"), "kary-response does not randomize baskets"),
    ((*AS_ROWS, *DECLARED, "--operator", "nine.yaml"), "for 9 items; item has 8"),
    ((*AS_ROWS, *DECLARED, "--operator", "pairs.yaml"), "for baskets of 2; --size is 3"),
    ((*AS_ROWS, *DECLARED, "--operator", "weak.yaml"), "promised is 50%"),
]


@pytest.mark.parametrize(("words", "said"), BAD)
def test_bad_input_gets_one_sentence(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("twice.txt").write_text("bread\nbread\n")
    Path("shares.yaml").write_text("operator: kary-response\nvalues: 8\nepsilon: 1\n")
    for name, more in (("nine", "items: 9\nsize: 3"), ("pairs", "items: 8\nsize: 2")):
        Path(f"{name}.yaml").write_text(f"operator: select-a-size\n{more}\nepsilon: 1\n")
    Path("weak.yaml").write_text("operator: select-a-size\nitems: 8\nsize: 3\nepsilon: 4\n")
    assert randomize(*words, "--json") == 2
    told = json.loads(capsys.readouterr().out)
    assert said in f"{told['error']} {told['hint']}"
    assert not Path("reports.parquet").exists()


def test_rows_without_a_basket_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "shop.csv").write_text("customer,receipt,item\nann,1,bread\n,2,bread\n,3,milk\n")
    assert randomize(*AS_ROWS, *DECLARED) == 2
    assert "Some rows have no basket." in capsys.readouterr().err


def test_only_baskets_are_mined(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("shop.csv", "--column", "item", "--values-from", "items.txt", "--promise", "5%:50%")
    assert randomize(*words, "--other", "tea") == 0
    assert mine("--support", "5%") == 2
    assert "Itemsets are mined from baskets" in capsys.readouterr().err
