"""Labels read back, as an attacker reads a release: what each says of the value behind it."""

from __future__ import annotations

import pytest

from discreet.anonymity.hierarchies import Tree
from tests.anonymity.hierarchies.labels import parse_label


@pytest.mark.parametrize(
    ("label", "covered", "not_covered"),
    [
        ("*", ["13053", "", "Asian"], []),
        ("[20, 24]", ["20", "24", "22.0"], ["25", "19", "24.5", "Asian", ""]),
        ("[-5, -1]", ["-5", "-1"], ["0", "5"]),
        ("[0.5, 1[", ["0.5", "0.999"], ["1", "0.49"]),
        ("[0,4]", ["0", "4"], ["5"]),
        ("20-24", ["20", "24", "20-24"], ["25"]),
        ("< 40", ["39", "-1"], ["40", "old"]),
        (">= 40", ["40", "41"], ["39"]),
        ("≥ 40", ["40"], ["39"]),
        ("<=4000", ["4000"], ["4001"]),
        ("> 3", ["4"], ["3"]),
        ("130**", ["13053", "13068", "130"], ["13153", "130534", "1"]),
        ("**053", ["13053"], ["13054", "113053"]),
        ("*****", ["13053", "1"], ["130534"]),
        ("2*", ["28", "2"], ["31", "280"]),
        ("2023-05", ["2023-05-01", "2023-05-31 23:59:59", "2023-05"], ["2023-06-01", "5"]),
        ("2023-Q2", ["2023-04-01", "2023-06-30"], ["2023-07-01"]),
        ("2023", ["2023-12-31", "2023"], ["2024-01-01", "2022"]),
        ("1990s", ["1990-01-01", "1999-12-31"], ["2000-01-01"]),
        ("2023-05-17", ["2023-05-17", "2023-05-17 10:00:00"], ["2023-05-18"]),
        ("2023-05-17–2023-06-02", ["2023-05-17", "2023-06-02 23:00:00"], ["2023-05-16", "2023-06-03", "20"]),
        ("[2023-05-17, 2023-06-02]", ["2023-05-17", "2023-06-02 23:00:00"], ["2023-05-16", "2023-06-03"]),
        ("29", ["29", "29.0"], ["30", "2", "290"]),
        ("Asian", ["Asian"], ["Japanese"]),
        ("", [""], ["x"]),
    ],
)
def test_a_label_covers_what_it_says(label: str, covered: list[str], not_covered: list[str]) -> None:
    covers = parse_label(label)
    assert [value for value in covered if not covers(value)] == []
    assert [value for value in not_covered if covers(value)] == []


def test_groups_are_read_with_their_hierarchy() -> None:
    nations = Tree(
        name="n", tree={"*": {"Asian": ["Japanese", "Indian"], "American": ["US"]}}
    ).build_hierarchy(())
    assert [value for value in nations.values if parse_label("Asian", nations)(value)] == [
        "Japanese",
        "Indian",
    ]
    assert parse_label("US", nations)("US")
    assert not parse_label("US", nations)("Indian")
