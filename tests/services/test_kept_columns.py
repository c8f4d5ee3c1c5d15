"""Columns of a file that nobody declared: left out, kept by name, or forced; and the person that k counts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import discreet as discreet_api
from discreet.core.column_entry import Role
from discreet.services.policy_draft.column_roles import HIPAA_IDENTIFIERS, guess_role, is_person_key
from tests.services.test_promise import discreet

COLUMNS = "Patientennummer,age,zip,disease,ward,born,Handy,remark,weight,contact"
GIVEN = ("Anna", "Peter", "Maria", "Zoltan", "Ahmet", "Ines")


def write_hospital(folder: Path, *, visits: int = 1) -> Path:
    """Write 120 people with patient number, exact birth date, telephone number and free text."""
    rows = [
        f"{1000 + i // visits},{20 + i // visits % 3},{80331 + i // visits % 2},{('flu', 'asthma')[i % 2]},"
        f"{'ABC'[i % 3]},19{40 + i % 50}-0{1 + i % 9}-{10 + i % 19},0171 {2000000 + 7919 * i},"
        f"came in the night and could not sleep again {i % 3},{60 + i / 16:.4f},{GIVEN[i % 6]}"
        for i in range(120)
    ]
    file = folder / "hospital.csv"
    file.write_text(COLUMNS + "\n" + "\n".join(rows) + "\n")
    return file


def publish(folder: Path, *options: str, visits: int = 1) -> int:
    file = write_hospital(folder, visits=visits)
    words = ("--quasi", "age,zip", "--sensitive", "disease", "-k", "5", "-o", str(folder / "release.csv"))
    return discreet("anonymize", str(file), *words, *options)


def published(folder: Path) -> list[str]:
    return list(pacsv.read_csv(folder / "release.csv").column_names)


def test_columns_that_no_option_names_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(tmp_path, "--json") == 0
    told = capsys.readouterr()
    assert published(tmp_path) == ["age", "zip", "disease"]
    assert json.loads(told.out)["left_out"] == ["Patientennummer", *COLUMNS.split(",")[4:]]
    assert "--keep" in told.err
    text = (tmp_path / "release.csv").read_text()
    assert "0171" not in text
    assert "1003" not in text


def test_a_harmless_column_is_kept_by_its_name(tmp_path: Path) -> None:
    assert publish(tmp_path, "--keep", "ward") == 0
    assert published(tmp_path) == ["age", "zip", "disease", "ward"]
    certificate = json.loads((tmp_path / "release.certificate.json").read_text())
    assert certificate["forced_columns"] == []


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("Patientennummer", "its name suggests that it identifies people"),
        ("Handy", "its name suggests that it identifies people"),
        ("remark", "its name suggests that it identifies people"),
        ("weight", "hardly two rows have the same value"),
        ("contact", "look like names"),
    ],
)
def test_a_column_that_may_identify_people_needs_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, reason: str
) -> None:
    assert publish(tmp_path, "--keep", column) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert reason in told
    assert f"--keep {column} and --force" in told
    assert not (tmp_path / "release.csv").exists()
    assert publish(tmp_path, "--keep", column, "--force") == 0
    assert column in published(tmp_path)
    certificate = json.loads((tmp_path / "release.certificate.json").read_text())
    assert certificate["forced_columns"] == [column]


def test_a_column_that_does_not_exist_cannot_be_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(tmp_path, "--keep", "wards") == 2
    assert "has no column wards" in capsys.readouterr().err


def test_rows_of_one_person_are_not_counted_without_asking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(tmp_path, visits=5) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "Patientennummer seems to name the person" in told
    assert not (tmp_path / "release.csv").exists()
    assert publish(tmp_path, "--person", "row", visits=5) == 0
    assert json.loads((tmp_path / "release.certificate.json").read_text())["unit"] == "row"


def test_people_are_counted_where_the_person_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 24 people in six classes: every class has 20 rows, and 4 people
    assert publish(tmp_path, "--person", "row", "--level", "age=0", visits=5) == 0
    assert publish(tmp_path, "--person", "Patientennummer", "--level", "age=0", visits=5) == 4
    assert "5-anonymity" in capsys.readouterr().err
    assert publish(tmp_path, "--person", "Patientennummer", visits=5) == 0
    assert published(tmp_path) == ["age", "zip", "disease"]
    assert json.loads((tmp_path / "release.certificate.json").read_text())["unit"] == "person"


def test_a_policy_decides_about_its_own_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_hospital(tmp_path)
    policy = tmp_path / "privacy.yaml"
    policy.write_text(
        "tables:\n  hospital:\n    source: hospital.csv\n    columns:\n"
        "      Patientennummer: {role: identifier}\n"
        "      age: {type: integer, low: 0, high: 99, role: quasi}\n"
        "      disease: {role: sensitive}\n"
        "      weight: {type: decimal, low: 0, high: 300, resolution: 0.0001}\n"
    )
    words = ("anonymize", "hospital", "-p", str(policy), "-k", "5", "-o", str(tmp_path / "release.csv"))
    assert discreet(*words) == 2
    assert "weight of hospital would be published unchanged" in " ".join(capsys.readouterr().err.split())
    assert discreet(*words, "--keep", "Patientennummer", "--force") == 2
    assert "never published" in " ".join(capsys.readouterr().err.split())
    assert discreet(*words, "--person", "Patientennummer") == 2
    assert discreet(*words, "--keep", "weight", "--force") == 0
    assert published(tmp_path) == ["age", "disease", "weight"]


@pytest.mark.parametrize(
    "name",
    [
        *("E-Mail", "Telefonnummer", "Straße", "Vorname", "Steuer-ID", "IBAN", "Bemerkungen", "Kundennummer"),
        *("Prénom", "téléphone", "Adresse", "nom_de_famille", "Numéro sécu", "commentaire", "id_client"),
        *("correo electrónico", "Teléfono", "dirección", "Apellidos", "DNI", "observaciones", "id_paciente"),
        *("Codice Fiscale", "Cognome", "cellulare", "indirizzo", "Osservazioni", "id_utente"),
        *("telefoonnummer", "adres", "achternaam", "BSN", "opmerkingen", "klantnummer"),
        *("telemóvel", "Endereço", "apelido", "observações", "CPF", "número_utilizador"),
        *("Imię", "Nazwisko", "PESEL", "ulica", "uwagi", "numer_pacjenta"),
        *("email", "phone_number", "ssn", "homepage_url", "ip_address", "full name", "patient_id"),
    ],
)
def test_identifying_names_are_known_in_eight_languages(name: str) -> None:
    assert guess_role(name) is Role.IDENTIFIER


@pytest.mark.parametrize(
    "name", ["Gewicht/kg", "cost", "Station", "largeur", "peso", "altezza", "lengte", "wzrost", "n_visits"]
)
def test_ordinary_names_are_not_taken_for_identifiers(name: str) -> None:
    assert guess_role(name) is Role.OTHER


@pytest.mark.parametrize(
    "name", ["Patientennummer", "Pat.-Nr.", "id_paciente", "numer_pacjenta", "klantnummer", "user"]
)
def test_keys_of_people_are_known(name: str) -> None:
    assert is_person_key(name)


@pytest.mark.parametrize(
    ("label", "values"),
    [
        (
            "telephone numbers",
            ["+49 171 2345678", "089/1234567", "+33 1 23 45 67 89", "01 23 45 67 89", "01712345678"],
        ),
        (
            "national identity numbers",
            ["12345678Z", "RSSMRA85T10A562S", "85010112345", "AB123456C", "A123456789"],
        ),
        ("account numbers", ["DE89 3704 0044 0532 0130 00", "FR7630006000011234567890189"]),
        ("IP addresses", ["192.168.0.1", "2001:db8:85a3:0:0:8a2e:370:7334"]),
        ("web addresses", ["https://example.org/a", "www.example.org"]),
        ("names", ["Anna Schmidt", "Müller, Peter", "josé"]),
        ("free text", ["came in the night and could not sleep"]),
    ],
)
def test_values_are_known_by_their_form(label: str, values: list[str]) -> None:
    pattern = next(each.pattern for each in HIPAA_IDENTIFIERS if each.label == label)
    for value in values:
        assert re.fullmatch(pattern, value), value
    for other in ("2024-01-05", "05.06.2024", "asthma", "80331", "12.5"):
        assert not re.fullmatch(pattern, other), other


def test_a_frame_says_who_the_person_is_as_a_file_does() -> None:
    rows = {
        "patient": [f"p{i // 2}" for i in range(20)],
        "age": [30 + i // 2 % 2 for i in range(20)],
        "ill": ["flu", "cold"] * 10,
    }
    frame = pa.table(rows)
    with pytest.raises(discreet_api.DiscreetError, match="patient seems to name the person") as refused:
        discreet_api.anonymize(frame, quasi="age", sensitive="ill", k=2)
    assert '`person="patient"`' in str(refused.value)
    for person in ("row", "patient"):
        release = discreet_api.anonymize(frame, quasi="age", sensitive="ill", k=2, person=person)
        assert "patient" not in release.to_pandas().columns
    single = pa.table(rows | {"patient": [f"p{i}" for i in range(20)]})
    discreet_api.anonymize(single, quasi="age", sensitive="ill", k=2)


def test_a_kept_column_of_a_frame_that_may_identify_people_needs_force() -> None:
    rows = {"name": [f"Ada {i}" for i in range(20)], "age": [30, 31] * 10, "ill": ["flu", "cold"] * 10}
    with pytest.raises(discreet_api.DiscreetError, match="identifies people") as refused:
        discreet_api.anonymize(pa.table(rows), quasi="age", sensitive="ill", keep="name", k=2)
    assert '`keep="name"` and `force=`' in str(refused.value)
    release = discreet_api.anonymize(
        pa.table(rows), quasi="age", sensitive="ill", keep="name", k=2, force=True
    )
    assert release.forced_columns == ("name",)
    assert "name" in release.read_rows().column_names
