"""Match sets: exactly the rows whose labels cover what is known, whichever way they are found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity.hierarchies import Mask, Tree
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.recodings.local_recoding import recode_locally
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.attacks.attacker_knowledge import Register, build_full_knowledge, read_register
from discreet.attacks.class_matching import match_people
from discreet.attacks.engine_tables import count_distinct_tuples
from discreet.attacks.label_coverage import compute_coverage
from discreet.attacks.match_sets import MatchSets, from_classes
from discreet.attacks.published_table import PublishedTable, from_recoding, read_release
from discreet.core.errors import DataError, RequestError
from tests.anonymity import tables
from tests.anonymity.hierarchies.labels import parse_label
from tests.attacks.releases import against, engine, known_of, release_of, table

NATIONS = Tree(
    name="n", tree={"*": {"Asian": ["Japanese", "Indian"], "American": ["US", "Cuban"]}}
).build_hierarchy(())
LABELS = [
    "*", "[20, 24]", "[0.5, 1[", "20-24", "< 40", ">= 40", "29", "130**", "2*", "*53", "***", "2023-05",
    "2023", "1990s", "2023-Q2", "2023-05-17", "2023-05-17–2023-06-02", "Asian", "Japanese", "Cuban", "",
    "4–9",
]  # fmt: skip
VALUES = [
    "20", "24", "24.5", "29", "29.0", "0.5", "1", "39", "40", "13053", "13068", "130", "14853", "2", "280",
    "53", "2023-05-17", "2023-05-31 10:00:00", "2023-06-02", "2023", "1994-01-01", "Japanese", "Indian", "US",
    "", "7",
]  # fmt: skip


@given(st.lists(st.sampled_from(LABELS), unique=True), st.lists(st.sampled_from(VALUES), unique=True))
@pytest.mark.parametrize("hierarchy", [None, NATIONS])
def test_a_covering_is_what_each_label_reads_as(
    hierarchy: object, labels: list[str], values: list[str]
) -> None:
    found = compute_coverage(labels, values, hierarchy)  # type: ignore[arg-type]
    for i, label in enumerate(labels):
        places = list(range(int(found.low[i]), int(found.high[i])))
        if found.mask_rows[i] >= 0:
            places = [p for p in places if found.masks[found.mask_rows[i], p]]
        covers = parse_label(label, hierarchy)  # type: ignore[arg-type]
        assert {v for v, p in zip(values, found.positions.tolist(), strict=True) if p in places} == {
            value for value in values if covers(value)
        }
    if found.sole_labels is not None:
        for value, label_place in zip(values, found.sole_labels.tolist(), strict=True):
            covering_it = [i for i, label in enumerate(labels) if parse_label(label, hierarchy)(value)]  # type: ignore[arg-type]
            assert covering_it == ([label_place] if label_place >= 0 else [])


def list_class_labels(published: PublishedTable, place: int) -> tuple[str, ...]:
    codes = published.classes.codes[place].tolist()
    return tuple(labels[code] for labels, code in zip(published.labels, codes, strict=True))


def by_definition(sets: MatchSets) -> list[set[int]]:
    """The classes of every known tuple, label by label and value by value."""
    published, known = sets.published, sets.known
    shared = [
        (j, known.columns.index(name)) for j, name in enumerate(published.columns) if name in known.columns
    ]
    found = []
    for codes in known.tuples.codes.tolist():
        values = {j: known.values[k][codes[k]] for j, k in shared}
        found.append({
            place
            for place in range(len(published.classes))
            if all(
                (known.blank_is_unknown and not value)
                or parse_label(
                    list_class_labels(published, place)[j], published.hierarchies.get(published.columns[j])
                )(value)
                for j, value in values.items()
            )
        })  # fmt: skip
    return found


def found_of(sets: MatchSets) -> list[set[int]]:
    return [
        set() if s < 0 else set(sets.members[sets.starts[s] : sets.starts[s + 1]].tolist())
        for s in sets.group.tolist()
    ]


ROWS = st.tuples(
    st.sampled_from(["130**", "1305*", "13053", "148**", "*"]),
    st.sampled_from(["[20, 29]", "2*", "< 25", "*", "31", ""]),
    st.sampled_from(["Asian", "Japanese", "*", "American"]),
    st.sampled_from("xyz"),
)
PERSONS = st.tuples(
    st.sampled_from(["13053", "13068", "14853", ""]),
    st.sampled_from(["20", "27", "31", ""]),
    st.sampled_from(["Japanese", "US", "Indian"]),
)


@settings(max_examples=25)
@given(st.lists(ROWS, min_size=1, max_size=25), st.lists(PERSONS, min_size=1, max_size=12))
def test_match_sets_are_the_classes_that_cover_what_is_known(
    rows: list[tuple[str, ...]], people: list[tuple[str, ...]]
) -> None:
    release = pa.table(
        dict(zip(("zip", "age", "nation", "disease"), map(list, zip(*rows, strict=True)), strict=True))
    )
    register = pa.table(
        dict(zip(("zip", "age", "nation"), map(list, zip(*people, strict=True)), strict=True))
    )
    sets = against(release, register, hierarchies={"nation": NATIONS})
    expected = by_definition(sets)
    assert found_of(sets) == expected
    sizes = sets.published.classes.counts
    assert [0 if s < 0 else int(sets.rows[s]) for s in sets.group] == [
        sum(sizes[c] for c in each) for each in expected
    ]
    assert sets.unmatched_people == sum(
        int(n) for n, each in zip(sets.known.tuples.counts, expected, strict=True) if not each
    )


@settings(max_examples=20)
@given(tables.tables())
def test_everybody_is_in_their_own_match_set_under_every_recoding(drawn: tables.Table) -> None:
    for recoding in (
        recode_locally(drawn.tuples, drawn.hierarchies, [KAnonymity(k=2)]),
        Mondrian().recode(drawn.tuples, drawn.hierarchies, [KAnonymity(k=2)]),
    ):
        if not recoding.published.any():
            continue
        published = from_recoding(drawn.tuples, recoding, drawn.hierarchies)
        sets = match_people(published, build_full_knowledge(drawn.tuples, drawn.hierarchies))
        assert found_of(sets) == by_definition(sets)
        kept = recoding.published[drawn.tuples.counts > 0]
        assert (sets.group[kept] >= 0).all()
        assert (sets.rows >= 2).all()


def test_a_large_overlapping_release_is_matched_as_small_ones_are() -> None:
    """Boxes in several levels of the tree; places are numbers, so a box holds a point or does not."""
    draw = np.random.Generator(np.random.Philox(5))
    low, width = draw.integers(0, 80, (3000, 2)), draw.integers(0, 20, (3000, 2))
    labels = [[f"[{a}, {a + w}]" for a, w in zip(low[:, j], width[:, j], strict=True)] for j in range(2)]
    points = draw.integers(0, 100, (200, 2))
    release = pa.table({"x": labels[0], "y": labels[1], "disease": ["d"] * len(low)})
    register = pa.table({"x": points[:, 0].astype(str), "y": points[:, 1].astype(str)})
    sets = against(release, register)
    codes, known = sets.known.tuples.codes, sets.known
    for place in range(len(codes)):
        x, y = (int(known.values[j][codes[place, j]]) for j in range(2))
        holds = (low <= [x, y]) & ([x, y] <= low + width)
        expected = int(holds.all(axis=1).sum())
        assert (int(sets.rows[sets.group[place]]) if sets.group[place] >= 0 else 0) == expected


@settings(max_examples=20)
@given(tables.tables())
def test_a_recoding_and_its_file_are_one_published_table(drawn: tables.Table) -> None:
    recoding = recode_locally(drawn.tuples, drawn.hierarchies, [KAnonymity(k=2)])
    shown = tables.published(drawn, recoding)
    if not shown:
        return
    names = [hierarchy.name for hierarchy in drawn.hierarchies]
    rows = [(*labels, value) for labels, members in shown.items() for _, value in members]
    release = pa.table(dict(zip([*names, "illness"], map(list, zip(*rows, strict=True)), strict=True)))
    one, other = from_recoding(drawn.tuples, recoding, drawn.hierarchies), release_of(release, ["illness"])

    def as_text(published: object) -> object:
        sets = from_classes(published)  # type: ignore[arg-type]
        counts, values = sets.counts("illness").toarray(), sets.names("illness")
        return {
            list_class_labels(sets.published, i): {
                v: int(n) for v, n in zip(values, counts[i], strict=True) if n
            }
            for i in range(len(sets))
        }

    assert as_text(one) == as_text(other)
    assert one.rows == other.rows


def test_an_empty_cell_of_a_register_fits_every_label() -> None:
    release = table("""
        zip   | age | disease
        130** | 2*  | flu
        148** | 3*  | flu
        148** | 2*  | acne
    """)
    people = pa.table({"zip": ["14850", "14850", None], "age": ["31", None, "25"]})
    sets = against(release, people)
    assert sorted(sets.rows[sets.group].tolist()) == [1, 2, 2]


def test_numbers_match_however_a_file_writes_them() -> None:
    release = pa.table({"age": ["29", "31"], "disease": ["flu", "acne"]})
    assert against(release, pa.table({"age": [29.0, 30.5]})).people.sum() == 1


def test_what_does_not_fit_is_said_in_a_sentence() -> None:
    release = table("""
        zip   | disease
        130** | flu
    """)
    published = release_of(release)
    with (
        pytest.raises(RequestError, match=r"people has no column of the release's quasi-identifiers\. Name"),
        engine(people=pa.table({"name": ["Joe"]})) as opened,
    ):
        read_register(opened, Register(table="people"), published)
    with pytest.raises(DataError, match="attack: register is empty"):
        known_of(pa.table({"zip": pa.array([], pa.string())}), published)
    with pytest.raises(DataError, match="nobody in register has name=Joe"):
        known_of(pa.table({"zip": ["13053"], "name": ["Al"]}), published, victim={"name": "Joe"})
    with engine(release=release) as opened:
        with pytest.raises(RequestError, match=r"release has no column salary\. It has zip, disease\."):
            read_release(opened, "release", quasi=["zip"], sensitive=["salary"])
        with pytest.raises(RequestError, match="zip is named both as a quasi-identifier and as sensitive"):
            read_release(opened, "release", quasi=["zip"], sensitive=["zip"])
        with pytest.raises(RequestError, match="no column of the release is named as a quasi-identifier"):
            read_release(opened, "release", quasi=[])
        with pytest.raises(RequestError, match="release has no column name"):
            count_distinct_tuples(opened, "release", ["zip"], where={"name": "Joe"})
    empty = pa.table({"zip": pa.array([], pa.string()), "disease": pa.array([], pa.string())})
    with pytest.raises(DataError, match="the release release is empty"):
        release_of(empty)
    with pytest.raises(
        RequestError, match=r"age is not among the sensitive columns of the release\. Those are"
    ):
        from_classes(published).counts("age")


def test_a_mask_hierarchy_and_its_texts_say_the_same() -> None:
    codes = Mask(name="zip").build_hierarchy(["13053", "13068", "14853"])
    release = pa.table({"zip": ["130**", "14853"], "disease": ["flu", "acne"]})
    people = pa.table({"zip": ["13053", "13068", "14853"]})
    plain, read_with = against(release, people), against(release, people, hierarchies={"zip": codes})
    assert found_of(plain) == found_of(read_with) == by_definition(plain)
    assert Fraction(int(plain.people.sum()), 3) == 1
