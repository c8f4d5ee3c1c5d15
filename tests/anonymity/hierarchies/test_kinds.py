"""Each kind of hierarchy: what values become, what they cost, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity.hierarchies import (
    Dates,
    Flat,
    Hierarchy,
    HierarchySpec,
    Intervals,
    ListedHierarchy,
    Mask,
    Order,
    Tree,
    add_missing_value,
    build_spec,
    hierarchy_from_rows,
    hierarchy_to_csv,
    read_hierarchy_csv,
)
from discreet.core.errors import DataError, RequestError
from discreet.core.hierarchy_entry import HierarchyEntry, MaskAlphabet, MaskSide, Period
from tests.anonymity.hierarchies.labels import parse_label


def paths(hierarchy: Hierarchy) -> dict[str, list[str]]:
    return {
        value: [hierarchy.generalize(value, level) for level in range(1, hierarchy.height + 1)]
        for value in hierarchy.values
    }


def numbers(
    *,
    low: object,
    high: object,
    step: object = 1,
    whole: bool = True,
    widths: Iterable[object] = (),
    cuts: tuple[tuple[Decimal, ...], ...] = (),
) -> Intervals:
    """Intervals of whatever reads as numbers."""
    bounds = {"low": Decimal(str(low)), "high": Decimal(str(high)), "step": Decimal(str(step))}
    return Intervals(
        name="n", whole=whole, widths=tuple(Decimal(str(each)) for each in widths), cuts=cuts, **bounds
    )


def test_whole_numbers_show_both_ends_of_their_interval() -> None:
    ages = numbers(low=0, high=120, widths=(5, 10, 20, 40))
    assert paths(ages.build_hierarchy(["23", "7", "120"])) == {
        "7": ["[5, 9]", "[0, 9]", "[0, 19]", "[0, 39]", "*"],
        "23": ["[20, 24]", "[20, 29]", "[20, 39]", "[0, 39]", "*"],
        "120": ["[120, 120]", "[120, 120]", "[120, 120]", "[120, 120]", "*"],
    }


def test_intervals_begin_at_the_lower_bound_as_in_the_lectures() -> None:
    zipcodes = numbers(low=10_001, high=60_000, widths=(5_000, 50_000))
    assert paths(zipcodes.build_hierarchy(["25000", "12000"])) == {
        "12000": ["[10001, 15000]", "[10001, 60000]"],
        "25000": ["[20001, 25000]", "[10001, 60000]"],
    }


def test_numbers_between_whole_ones_stay_below_the_upper_end() -> None:
    pay = numbers(low=0, high=10, step="0.01", whole=False, widths=("0.5", "2.5"))
    assert paths(pay.build_hierarchy(["0.499", "0.50", "9.5", "10"])) == {
        "0.499": ["[0, 0.5[", "[0, 2.5[", "*"],
        "0.50": ["[0.5, 1[", "[0, 2.5[", "*"],
        "9.5": ["[9.5, 10]", "[7.5, 10]", "*"],
        "10": ["[9.5, 10]", "[7.5, 10]", "*"],
    }


def test_cut_points_are_the_first_of_their_interval() -> None:
    ages = numbers(low=0, high=120, cuts=((Decimal(18), Decimal(65), Decimal(90)), (Decimal(18),)))
    assert paths(ages.build_hierarchy(["17", "18", "64", "90", "120"])) == {
        "17": ["[0, 17]", "[0, 17]", "*"],
        "18": ["[18, 64]", "[18, 120]", "*"],
        "64": ["[18, 64]", "[18, 120]", "*"],
        "90": ["[90, 120]", "[18, 120]", "*"],
        "120": ["[90, 120]", "[18, 120]", "*"],
    }
    with pytest.raises(RequestError, match="has a cut at 130, which is outside 0 to 120"):
        numbers(low=0, high=120, cuts=((Decimal(130),),))


@pytest.mark.parametrize("value", ["-1", "121", "20.5", "twenty", "nan", "inf", "1e999999999", "٣x"])
def test_a_number_outside_of_the_domain_is_refused_and_not_told(value: str) -> None:
    ages = numbers(low=0, high=120, widths=(5,))
    assert ages.find_uncovered(["20", value]) == (value,)
    with pytest.raises(
        DataError, match=r"n does not cover one value in the data.*hierarchy n --uncovered"
    ) as told:
        ages.build_hierarchy(["20", value])
    assert value not in str(told.value)


@given(
    low=st.integers(-50, 50),
    span=st.integers(1, 80),
    factors=st.lists(st.integers(2, 4), min_size=1, max_size=4),
    first=st.integers(1, 6),
)
def test_intervals_are_nested_and_their_shares_add_up(
    low: int, span: int, factors: list[int], first: int
) -> None:
    widths = np.cumprod([first, *factors]).tolist()
    hierarchy = numbers(low=low, high=low + span, widths=tuple(widths)).build_hierarchy(
        map(str, range(low, low + span + 1))
    )
    assert hierarchy.size == span + 1
    for level, (labels, shares) in enumerate(zip(hierarchy.labels, hierarchy.shares, strict=True)):
        assert shares.sum() == pytest.approx(1, rel=1e-12)
        for place, label in enumerate(labels):
            members = [hierarchy.values[at] for at in np.flatnonzero(hierarchy.maps[level] == place)]
            assert shares[place] == pytest.approx(len(members) / hierarchy.size)
            assert [value for value in hierarchy.values if parse_label(label)(value)] == (
                members if label != "*" else list(hierarchy.values)
            )


@given(
    high=st.decimals(1, 20, places=2),
    width=st.decimals("0.05", 3, places=2),
    values=st.lists(st.decimals(0, 1, places=6), min_size=1, max_size=20),
)
def test_intervals_of_decimals_cover_what_their_labels_say(
    high: Decimal, width: Decimal, values: list[Decimal]
) -> None:
    pay = numbers(low=0, high=high, step="0.01", whole=False, widths=(width, 3 * width))
    texts = {format(value * high, "f") for value in values} | {"0", str(high)}
    for value, labels in paths(pay.build_hierarchy(texts)).items():
        assert all(parse_label(label)(value) for label in labels)
    whole = pay.build_hierarchy(pay.list_example_values())
    assert [shares.sum() for shares in whole.shares] == pytest.approx([1] * len(whole.shares))


def test_a_code_loses_a_character_a_level() -> None:
    zipcodes = Mask(name="zip").build_hierarchy(["13053", "13068", "14850"])
    assert paths(zipcodes)["13053"] == ["1305*", "130**", "13***", "1****", "*"]
    assert (
        zipcodes.generalize("13068", 2) == zipcodes.generalize("13053", 2) != zipcodes.generalize("14850", 2)
    )
    assert zipcodes.size == 100_000
    assert zipcodes.shares[2][0] == pytest.approx(100 / 100_000)
    assert paths(Mask(name="zip", side=MaskSide.LEFT).build_hierarchy(["13053"]))["13053"][1] == "**053"


def test_masks_cost_what_the_same_hierarchy_costs_as_a_list() -> None:
    codes = [f"{number:03}" for number in range(1_000)]
    masked = Mask(name="c", alphabet=MaskAlphabet.DIGITS, length=3).build_hierarchy(codes)
    same = hierarchy_from_rows("c", [(code, f"{code[:2]}*", f"{code[0]}**", "*") for code in codes])
    assert masked.labels == same.labels
    for mine, theirs in zip(masked.shares, same.shares, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-12)


def test_declared_codes_decide_what_a_mask_stands_for() -> None:
    declared = ("13053", "13068", "14850", "14853")
    zipcodes = Mask(name="zip", values=declared).build_hierarchy(["13053"])
    assert zipcodes.size == 4
    shares = {level: zipcodes.shares[level][zipcodes.maps[level][0]] for level in range(6)}
    assert shares == {0: 1 / 4, 1: 1 / 4, 2: 1 / 2, 3: 1 / 2, 4: 1, 5: 1}


def test_levels_follow_from_the_policy_only_where_it_declares_length_or_values() -> None:
    codes = ["1305", "13068"]
    assert Mask(name="zip", length=7).build_hierarchy(codes).is_declared
    assert Mask(name="zip", values=("13068", "1305")).build_hierarchy(["1305"]).is_declared
    assert Mask(name="zip", values=("1305",), length=6).build_hierarchy(codes).is_declared
    assert not Mask(name="zip").build_hierarchy(codes).is_declared
    assert not Mask(name="zip", values=("1305",)).build_hierarchy(codes).is_declared
    assert not add_missing_value(Mask(name="zip").build_hierarchy(codes)).is_declared


def test_short_codes_meet_long_ones_where_the_mask_reaches_them() -> None:
    codes = Mask(name="icd").build_hierarchy(["E1", "E11", "E11.9"])
    assert paths(codes) == {
        "E1": ["E1", "E1", "E1***", "E****", "*"],
        "E11": ["E11", "E11**", "E1***", "E****", "*"],
        "E11.9": ["E11.*", "E11**", "E1***", "E****", "*"],
    }


@given(st.sets(st.text("A1b.", min_size=1, max_size=6), min_size=1), st.sampled_from(MaskSide))
def test_masks_are_nested_and_read_back(codes: set[str], side: MaskSide) -> None:
    hierarchy = Mask(name="c", side=side).build_hierarchy(codes)
    for value, labels in paths(hierarchy).items():
        assert labels[-1] == "*"
        assert all(parse_label(label)(value) for label in labels)
    assert all(np.all(shares <= 1) and np.all(shares > 0) for shares in hierarchy.shares)


@pytest.mark.parametrize("value", ["130*3", "123456", "12a"])
def test_what_is_no_such_code_is_refused(value: str) -> None:
    assert Mask(name="c", length=5, alphabet=MaskAlphabet.DIGITS).find_uncovered([value, "123"]) == (value,)


def test_dates_become_periods() -> None:
    born = Dates(name="b", low=date(1990, 1, 1), high=date(2009, 12, 31), periods=tuple(Period))
    hierarchy = born.build_hierarchy(["1999-12-31", "2000-01-01"])
    assert paths(hierarchy) == {
        "1999-12-31": ["1999-12-31", "1999-12", "1999-Q4", "1999", "1990s", "*"],
        "2000-01-01": ["2000-01-01", "2000-01", "2000-Q1", "2000", "2000s", "*"],
    }
    assert hierarchy.size == 7_305
    assert hierarchy.shares[2][0] == pytest.approx(31 / 7_305)
    assert hierarchy.shares[5].sum() == pytest.approx(1)


def test_times_are_taken_by_their_day_in_utc() -> None:
    seen = Dates(name="s", low=date(2023, 1, 1), high=date(2023, 1, 2), periods=(Period.DAY,), times=True)
    hierarchy = seen.build_hierarchy(["2023-01-01 23:59:59", "2023-01-01 23:00:00-02"])
    assert paths(hierarchy) == {
        "2023-01-01 23:00:00-02": ["2023-01-02", "*"],
        "2023-01-01 23:59:59": ["2023-01-01", "*"],
    }
    assert hierarchy.size == 2 * 86_400


@settings(max_examples=25)
@given(st.dates(date(1, 1, 1), date(9998, 1, 1)), st.integers(0, 4_000))
def test_periods_are_nested_read_back_and_add_up(low: date, days: int) -> None:
    born = Dates(name="b", low=low, high=low + timedelta(days), periods=tuple(Period))
    hierarchy = born.build_hierarchy(born.list_example_values())
    for shares in hierarchy.shares:
        assert shares.sum() == pytest.approx(1, rel=1e-9)
    for level, labels in enumerate(hierarchy.labels):
        covers = [parse_label(label) for label in labels]
        for at in (0, len(hierarchy.values) // 2, -1):
            mine = int(hierarchy.maps[level][at])
            assert [place for place, each in enumerate(covers) if each(hierarchy.values[at])] == [mine]


@pytest.mark.parametrize("value", ["1989-12-31", "2010-01-01", "2000", "2000-13-01", "yesterday"])
def test_what_is_no_such_date_is_refused(value: str) -> None:
    born = Dates(name="b", low=date(1990, 1, 1), high=date(2009, 12, 31), periods=(Period.YEAR,))
    assert born.find_uncovered([value, "2000-01-01"]) == (value,)


def test_trees_keep_one_meaning_a_level() -> None:
    tree = Tree(
        name="t", tree={"*": {"Asia": ["Japan", "India"], "America": {"North": ["US"], "South": ["Peru"]}}}
    )
    assert paths(tree.build_hierarchy(["US"])) == {
        "Japan": ["Japan", "Asia", "*"],
        "India": ["India", "Asia", "*"],
        "US": ["North", "America", "*"],
        "Peru": ["South", "America", "*"],
    }


def test_a_tree_of_several_roots_gets_a_top() -> None:
    several = {"Asia": ["Japan"], "America": ["US"]}
    assert Tree(name="t", tree=several).build_hierarchy(()).labels[-1] == ("*",)
    assert Tree(name="t", tree={"Earth": several}).build_hierarchy(()).labels[-1] == ("Earth",)


def test_ordered_values_are_grouped_by_runs() -> None:
    grades = Order(name="g", values=tuple("abcdefg"), widths=(2, 4))
    assert paths(grades.build_hierarchy("c"))["c"] == ["c to d", "a to d", "*"]
    assert paths(grades.build_hierarchy("g"))["g"] == ["g", "e to g", "*"]
    cut = Order(name="g", values=tuple("abcdefg"), cuts=(("b", "e"), ("e",)))
    assert paths(cut.build_hierarchy(()))["a"] == ["a", "a to d", "*"]
    assert paths(cut.build_hierarchy(()))["f"] == ["e to g", "e to g", "*"]
    doubling = Order(name="g", values=tuple("abcdefg")).build_hierarchy(())
    assert [len(labels) for labels in doubling.labels] == [7, 4, 2, 1]


def test_an_order_whose_runs_are_called_like_a_value_is_refused() -> None:
    with pytest.raises(RequestError, match="has a value 'a to b' that is also the label of a run"):
        Order(name="g", values=("a", "b", "a to b"), widths=(2,))


def test_a_column_without_a_hierarchy_has_a_top_alone() -> None:
    hierarchy = Flat(name="f", values=("x", "y")).build_hierarchy(["y", "z"])
    assert hierarchy.labels == (("x", "y", "z"), ("*",))
    assert Flat(name="f").build_hierarchy([]).labels == ((), ("*",))


@pytest.mark.parametrize(
    "text",
    [
        "a;A;*\nb;A;*\nc;C;*\n",
        "a;A;*\r\nb;A;*\r\nc;C;*",
        "\ufeffa,A,*\nb,A,*\n\nc,C,*\n",
        "a\tA\t*\nb\tA\t*\nc\tC\t*\n",
        "a|A|*\nb|A|*\nc|C|*\n",
        '"a";"A";"*"\n"b";"A";"*"\n"c";"C";"*"\n',
        "a; A; *\nb; A; *\nc; C; *\n",
        "a;A\nb;A\nc;C\n",
        "a%A%*\nb%A%*\nc%C%*\n",
    ],
)
def test_a_file_may_have_any_separator_and_line_end(tmp_path: Path, text: str) -> None:
    (tmp_path / "h.csv").write_bytes(text.encode())
    hierarchy = read_hierarchy_csv("h", tmp_path / "h.csv").build_hierarchy(["a", "b"])
    assert hierarchy_to_csv(hierarchy) == "a;A;*\nb;A;*\nc;C;*\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "h.csv, which is empty. Write one line per value"),
        (b"a;A;*\nb;*\n", "h.csv, line 2: it has 2 fields where line 1 has 3."),
        (b"a;A;*\nb;B;*\na;B;*\n", "h.csv, line 3: its value is also in line 1, with other labels."),
        (b"a;A;X;*\nb;B;Y;*\nc;A;Y;*\n", "h.csv, line 3: 'A' becomes 'Y' at level 2, and 'X' in line 1."),
        (b"\xff\xfe", "which cannot be read (it is not text in UTF-8)"),
        (None, "which cannot be read (No such file or directory). Correct its path"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, text: bytes | None, told: str) -> None:
    if text is not None:
        (tmp_path / "h.csv").write_bytes(text)
    with pytest.raises(RequestError) as caught:
        read_hierarchy_csv("h", tmp_path / "h.csv")
    assert told in str(caught.value)


@given(st.data())
def test_whatever_is_listed_is_nested_or_refused(data: st.DataObject) -> None:
    labels = st.sampled_from("XYZ")
    values = data.draw(st.sets(st.sampled_from("abcdef"), min_size=1))
    rows = [(value, data.draw(labels), data.draw(labels)) for value in sorted(values)]
    nested = len({row[1:] for row in rows}) == len({row[1] for row in rows})
    if not nested:
        with pytest.raises(RequestError, match="not nested"):
            hierarchy_from_rows("h", rows)
        return
    hierarchy = hierarchy_from_rows("h", rows)
    assert len(hierarchy.labels[-1]) == 1
    for level in range(hierarchy.height):
        for one in hierarchy.values:
            for other in hierarchy.values:
                if hierarchy.generalize(one, level) == hierarchy.generalize(other, level):
                    assert hierarchy.generalize(one, level + 1) == hierarchy.generalize(other, level + 1)


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"widths": [5], "low": 0, "high": 9}, Intervals),
        ({"cuts": [["5"]], "low": 0, "high": 9}, Intervals),
        ({"mask": "left"}, Mask),
        ({"tree": {"*": ["a"]}}, Tree),
        ({"dates": ["year"], "low": date(2000, 1, 1), "high": date(2001, 1, 1)}, Dates),
        ({"order": ["a", "b"]}, Order),
    ],
)
def test_every_entry_of_a_policy_has_its_kind(entry: dict[str, Any], kind: type[HierarchySpec]) -> None:
    made = build_spec("h", HierarchyEntry.model_validate(entry))
    assert isinstance(made, kind)
    assert made.build_hierarchy(made.list_example_values()).height >= 1


def test_a_file_entry_is_read(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a;*\n")
    assert isinstance(build_spec("h", HierarchyEntry(csv=str(tmp_path / "h.csv"))), ListedHierarchy)


def test_intervals_without_a_domain_say_where_to_declare_it() -> None:
    with pytest.raises(RequestError, match=r"h has no domain\. Add low and high to it or to its column"):
        build_spec("h", HierarchyEntry(widths=(5,)))
