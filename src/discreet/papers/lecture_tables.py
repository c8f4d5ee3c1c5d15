"""Tables of the lectures on database privacy, as printed."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

DOCUMENT = "Database Privacy I and II (lectures)"


def parse_printed_table(text: str) -> pa.Table:
    """Parse a text with columns separated by | and one row per line, names first; all values are text."""
    names, *rows = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


MICRODATA = parse_printed_table("""
    name  | age | sex | zip   | disease
    Andy  | 5   | M   | 12000 | gastric ulcer
    Bill  | 9   | M   | 14000 | dyspepsia
    Ken   | 6   | M   | 18000 | pneumonia
    Nash  | 8   | M   | 19000 | bronchitis
    Joe   | 12  | M   | 22000 | pneumonia
    Sam   | 19  | M   | 24000 | pneumonia
    Linda | 21  | F   | 58000 | flu
    Jane  | 26  | F   | 36000 | gastritis
    Sarah | 28  | F   | 37000 | pneumonia
    Mary  | 56  | F   | 33000 | flu
""")
MIKE = parse_printed_table("""
    name | age | sex | zip
    Mike | 7   | M   | 17000
""")
VOTERS = pa.concat_tables([MICRODATA.drop_columns(["disease"]), MIKE])
TWO_ANONYMOUS = parse_printed_table("""
    age      | sex | zip            | disease
    [1, 10]  | M   | [10001, 15000] | gastric ulcer
    [1, 10]  | M   | [10001, 15000] | dyspepsia
    [1, 10]  | M   | [15001, 20000] | pneumonia
    [1, 10]  | M   | [15001, 20000] | bronchitis
    [11, 20] | M   | [20001, 25000] | pneumonia
    [11, 20] | M   | [20001, 25000] | pneumonia
    [21, 60] | F   | [30000, 60000] | flu
    [21, 60] | F   | [30000, 60000] | gastritis
    [21, 60] | F   | [30000, 60000] | pneumonia
    [21, 60] | F   | [30000, 60000] | flu
""")
THREE_ANONYMOUS = parse_printed_table("""
    zip   | age  | disease
    476** | 2*   | Heart Disease
    476** | 2*   | Heart Disease
    476** | 2*   | Heart Disease
    4790* | ≥ 40 | Flu
    4790* | ≥ 40 | Heart Disease
    4790* | ≥ 40 | Cancer
    476** | 3*   | Heart Disease
    476** | 3*   | Cancer
    476** | 3*   | Cancer
""")
NEIGHBOURS = parse_printed_table("""
    name | zip   | age
    Bob  | 47678 | 27
    Carl | 47673 | 36
""")
PEOPLE = parse_printed_table("""
    name  | zip   | age | nationality
    Umeko | 13068 | 21  | Japanese
    Bob   | 13053 | 31  | American
""")
FOUR_ANONYMOUS = parse_printed_table("""
    zip   | age   | nationality | disease
    130** | < 30  | *           | Heart Disease
    130** | < 30  | *           | Heart Disease
    130** | < 30  | *           | Viral Infection
    130** | < 30  | *           | Viral Infection
    1485* | >= 40 | *           | Cancer
    1485* | >= 40 | *           | Heart Disease
    1485* | >= 40 | *           | Viral Infection
    1485* | >= 40 | *           | Viral Infection
    130** | 3*    | *           | Cancer
    130** | 3*    | *           | Cancer
    130** | 3*    | *           | Cancer
    130** | 3*    | *           | Cancer
""")
THREE_DIVERSE = parse_printed_table("""
    zip   | age   | nationality | disease
    1305* | <= 40 | *           | Heart Disease
    1306* | <= 40 | *           | Heart Disease
    1306* | <= 40 | *           | Viral Infection
    1305* | <= 40 | *           | Viral Infection
    1485* | >= 40 | *           | Cancer
    1485* | >= 40 | *           | Heart Disease
    1485* | >= 40 | *           | Viral Infection
    1485* | >= 40 | *           | Viral Infection
    1305* | <= 40 | *           | Cancer
    1305* | <= 40 | *           | Cancer
    1306* | <= 40 | *           | Cancer
    1306* | <= 40 | *           | Cancer
""")
TWO_DIVERSE = parse_printed_table("""
    age      | sex | zip            | disease
    [1, 5]   | M   | [10001, 15000] | gastric ulcer
    [1, 5]   | M   | [10001, 15000] | dyspepsia
    [6, 10]  | M   | [15001, 20000] | pneumonia
    [6, 10]  | M   | [15001, 20000] | bronchitis
    [11, 20] | F   | [20001, 25000] | flu
    [11, 20] | F   | [20001, 25000] | pneumonia
    [21, 60] | F   | [30001, 60000] | gastritis
    [21, 60] | F   | [30001, 60000] | gastritis
    [21, 60] | F   | [30001, 60000] | flu
    [21, 60] | F   | [30001, 60000] | flu
""")
SECOND_TWO_DIVERSE = parse_printed_table("""
    age      | sex | zip            | disease
    [21, 60] | M   | [10001, 60000] | pneumonia
    [21, 60] | M   | [10001, 60000] | dyspepsia
    [21, 60] | M   | [10001, 60000] | dyspepsia
    [21, 60] | M   | [10001, 60000] | pneumonia
    [61, 70] | F   | [10001, 60000] | flu
    [61, 70] | F   | [10001, 60000] | gastritis
    [61, 70] | F   | [10001, 60000] | flu
    [61, 70] | F   | [10001, 60000] | bronchitis
""")
SIMILAR = parse_printed_table("""
    zip   | age  | salary | disease
    476** | 2*   | 20000  | Gastric Ulcer
    476** | 2*   | 30000  | Gastritis
    476** | 2*   | 40000  | Stomach Cancer
    4790* | ≥ 40 | 50000  | Gastritis
    4790* | ≥ 40 | 100000 | Flu
    4790* | ≥ 40 | 70000  | Bronchitis
    476** | 3*   | 60000  | Bronchitis
    476** | 3*   | 80000  | Pneumonia
    476** | 3*   | 90000  | Stomach Cancer
""")
CLOSE = parse_printed_table("""
    race        | zip   | disease
    Caucas      | 787XX | Flu
    Caucas      | 787XX | Shingles
    Caucas      | 787XX | Acne
    Caucas      | 787XX | Flu
    Caucas      | 787XX | Acne
    Caucas      | 787XX | Flu
    Asian/AfrAm | 78XXX | Flu
    Asian/AfrAm | 78XXX | Flu
    Asian/AfrAm | 78XXX | Acne
    Asian/AfrAm | 78XXX | Shingles
    Asian/AfrAm | 78XXX | Acne
    Asian/AfrAm | 78XXX | Flu
""")
PERFECTLY_CLOSE = parse_printed_table("""
    race        | zip   | hiv | disease
    Asian/AfrAm | 787XX | -   | Acne
    Asian/AfrAm | 787XX | -   | Acne
    Asian/AfrAm | 787XX | -   | Flu
    Asian/AfrAm | 787XX | +   | Shingles
    Caucasian   | 787XX | +   | Flu
    Caucasian   | 787XX | -   | Acne
    Caucasian   | 787XX | -   | Shingles
    Caucasian   | 787XX | -   | Acne
""")
PATIENTS = parse_printed_table("""
    zip   | age | nationality | disease
    13053 | 28  | US          | Heart Disease
    13067 | 29  | Canadian    | Heart Disease
    13053 | 36  | Japanese    | Cancer
    13067 | 35  | Indian      | Cancer
""")
"""Values chosen to fit the printed labels; the slide with the original rows is a picture."""

ORGANS: Mapping[str, tuple[str, ...]] = {
    "Stomach": ("Gastric Ulcer", "Gastritis", "Stomach Cancer"),
    "Lungs": ("Flu", "Bronchitis", "Pneumonia"),
}


def make_single_class(**counts: int) -> pa.Table:
    """Return one equivalence class with the given count of each disease."""
    rows = [name for name, count in counts.items() for _ in range(count)]
    return pa.table({"zip": ["130**"] * len(rows), "disease": rows})
