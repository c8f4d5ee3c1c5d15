"""The Data screen: from an empty server to the first answer, and those who must not use it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from discreet.http import streamed_bodies
from discreet.http.csrf import CSRF_HEADER
from discreet.services.policies import load_policy
from discreet.services.policy_setup import uploads
from discreet.services.users import Role
from tests.http.data_forms import bring_in, fill, find_source, open_form, read_page, upload
from tests.http.served import Server, both_listeners
from tests.patience import PATIENCE
from tests.pgwire.served import PASSWORD

HTML = {"accept": "text/html"}
CUSTODIAN, ANALYST = "cara", "ann"
NO_DATA = "The custodian has not brought in any data yet; nothing was charged."
WOMEN, ROWS = 700, 1_000


def write_messy_csv() -> bytes:
    """A file of Windows: cp1252, semicolons, decimal commas, German dates, padded words, a formula."""
    rng = random.Random(7)
    lines = ["Patient Nr;Größe/cm;Geschlecht;Aufnahme;<b>Notiz</b>"]
    for place in range(ROWS):
        size, day = f"{rng.uniform(150, 200):.1f}".replace(".", ","), f"{1 + place % 28:02d}.03.2024"
        sex = " Frau" if place < WOMEN else "Mann"
        lines.append(f"P{place};{size};{sex};{day};=HYPERLINK(A1)")
    return ("\n".join(lines) + "\n").encode("cp1252")


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Server]:
    with both_listeners(tmp_path) as running:
        running.users.add(CUSTODIAN, Role.CUSTODIAN, "analyst", PASSWORD)
        running.users.add(ANALYST, Role.ANALYST, "analyst", PASSWORD)
        yield running


def fill_in(client: httpx.Client) -> dict[str, str]:
    """The form of the messy file, filled in."""
    fields = bring_in(client, "Besuche 2024.csv", write_messy_csv())
    fields |= {"entries.person": "row", "table": "visits"}
    fill(fields, "Größe_cm", low="100", high="220", resolution="0.1")
    fill(fields, "Geschlecht", type="category", values="Frau\r\nMann\r\n")
    fill(fields, "Aufnahme", low="2024-01-01", high="2024-12-31")
    return fields


def save(client: httpx.Client, fields: dict[str, str]) -> httpx.Response:
    return client.post("/data/form", data=fields | {"do": "save"}, headers=HTML)


def accept(client: httpx.Client) -> None:
    shown = client.post("/check", data={"csrf": client.headers[CSRF_HEADER], "do": "accept"})
    assert "is accepted" in shown.text


def test_from_an_empty_server_to_the_first_answer(empty: Server) -> None:
    with empty.client(CUSTODIAN) as client:
        assert client.get("/").headers["location"] == "/data"
        assert "This server has no data yet" in client.get("/data").text
        fields = fill_in(client)
        assert fields["csv.delimiter"] == ";"
        assert fields["csv.decimal"] == ","
        assert fields["csv.encoding"] == "cp1252"
        assert fields["csv.dates"] == "%d.%m.%Y"
        checked = client.post("/data/form", data=fields | {"do": "check"}, headers=HTML)
        assert f"Check <small>{ROWS:,} rows; nothing was saved" in checked.text
        assert not (empty.folder / "privacy.yaml").exists()
        assert empty.served.is_empty
        saved = save(client, fields)
        assert saved.status_code == 303, saved.text
        assert saved.headers["location"] == "/check?saved=visits"
        with empty.client(ANALYST) as analyst:
            refused = analyst.post("/api/ask", json={"sql": "SELECT COUNT(*) AS n FROM visits"})
            assert refused.json()["code"] == "not-accepted"
        accept(client)
        sql = 'SELECT Geschlecht, COUNT(*) AS n, AVG("Größe_cm") AS m FROM visits GROUP BY Geschlecht'
        with empty.client(ANALYST) as analyst:
            answer = analyst.post("/api/ask", json={"sql": sql, "epsilon": 1}).json()
        found = {row[0]: row[1:] for row in answer["rows"]}
        assert abs(found["Frau"][0] - WOMEN) <= 60
        assert abs(found["Mann"][0] - (ROWS - WOMEN)) <= 60
        assert 150 <= found["Frau"][1] <= 200
    with psycopg.connect(
        host="127.0.0.1", port=empty.postgres, user=ANALYST, password=PASSWORD, dbname="discreet"
    ) as connection:
        assert connection.execute("SELECT COUNT(*) FROM visits").fetchone() is not None
        names = connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
        assert ("visits",) in names


def test_what_is_saved_is_a_policy_file_that_starts_the_same_server(empty: Server) -> None:
    with empty.client(CUSTODIAN) as client:
        assert save(client, fill_in(client)).status_code == 303
    policy = load_policy(empty.folder / "privacy.yaml")
    assert policy.promise is not None
    assert (policy.promise.prior, policy.promise.posterior, policy.epsilon) == (0.01, 0.05, 0.1)
    assert policy.tables["visits"].source == str(empty.folder / "data/Besuche_2024.csv")
    assert policy.tables["visits"].columns["Größe_cm"].source_name == "Größe/cm"
    assert policy.model_dump() == empty.curators.policy.model_dump()


def test_everybody_else_gets_one_sentence_while_there_is_no_data(empty: Server) -> None:
    with empty.client(ANALYST) as analyst:
        for method, path in (("GET", "/api/ledger"), ("GET", "/promise"), ("GET", "/ask")):
            said = analyst.request(method, path)
            assert (said.status_code, said.json()["error"]) == (409, NO_DATA), path
        asked = analyst.post("/api/ask", json={"sql": "SELECT 1"})
        assert (asked.status_code, asked.json()["error"]) == (409, NO_DATA)
        assert NO_DATA in analyst.get("/promise", headers=HTML).text
        assert analyst.get("/data").status_code == 403
    with pytest.raises(psycopg.OperationalError, match="has not brought in any data yet"):
        psycopg.connect(
            host="127.0.0.1", port=empty.postgres, user=ANALYST, password=PASSWORD, dbname="discreet"
        )


@pytest.mark.parametrize("user", [ANALYST, "audrey", None])
def test_only_custodians_bring_data_in(user: str | None, empty: Server) -> None:
    (empty.folder / "mine.csv").write_text("a\n1\n")
    with empty.client(user) as client:
        token = client.headers.get(CSRF_HEADER, "x")
        form = {"csrf": token, "table": "t", "version": "none", "source": "mine.csv", "is_new": "yes"}
        answers = [
            client.get("/data"),
            client.get("/data/new", params={"source": "mine.csv"}),
            client.get("/data/table/t"),
            upload(client, "a.csv", b"a\n1\n", csrf=token),
            client.post("/data/form", data=form | {"do": "save"}),
            client.post("/data/form", data=form | {"do": "check"}),
            client.post("/data/preview", data=form),
        ]
    for answer in answers:
        assert answer.status_code == (303 if user is None else 403)
        assert user is not None or answer.headers["location"] == "/login"
        assert "mine" not in answer.text
    assert not (empty.folder / "data").exists()
    assert not (empty.folder / "privacy.yaml").exists()


def test_forms_without_the_token_of_the_session_change_nothing(empty: Server) -> None:
    with empty.client(CUSTODIAN) as client:
        fields = fill_in(client)
        before = sorted(empty.folder.rglob("*"))
        assert upload(client, "a.csv", b"a\n1\n", csrf="wrong").status_code == 403
        token = client.headers[CSRF_HEADER].encode()
        late = [("file", ("a.csv", b"a\n1\n")), ("csrf", (None, token))]
        assert client.post("/data/upload", files=late).status_code == 400  # the file came before the token
        for path in ("/data/form", "/data/preview"):
            assert client.post(path, data=fields | {"csrf": "wrong", "do": "save"}).status_code == 403
        assert sorted(empty.folder.rglob("*")) == before


@pytest.mark.parametrize(
    "source",
    [
        "../outside.csv",
        "/etc/passwd",
        "data/../../outside.csv",
        "linked.csv",
        "folder/outside.csv",
        "*.csv",
        "ledger.users.db",
        ".hidden.csv",
        "https://example.org/a.csv",
        "s3://bucket/a.csv",
        "",
        "inside.csv#x",
        "read_csv('/etc/passwd')",
    ],
)
def test_no_source_leads_out_of_the_folder(source: str, tmp_path: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    (tmp_path / "outside.csv").write_text("furtive\n1\n")
    (folder / "inside.csv").write_text("a\n1\n")
    (folder / ".hidden.csv").write_text("furtive\n1\n")
    (folder / "linked.csv").symlink_to(tmp_path / "outside.csv")
    (folder / "folder").symlink_to(tmp_path)
    with both_listeners(folder) as server, server.client("carl") as client:
        listed = client.get("/data").text
        assert "inside.csv" in listed
        assert "outside" not in listed
        assert "linked" not in listed
        assert "users.db" not in listed
        shown = client.get("/data/new", params={"source": source}, headers=HTML)
        assert shown.status_code == 400
        assert "furtive" not in shown.text
        fields = open_form(client, "/data/new?source=inside.csv") | {"entries.person": "row"}
        for action in ("check", "save"):
            posted = client.post("/data/form", data=fields | {"source": source, "do": action}, headers=HTML)
            assert posted.status_code == 400
            assert "furtive" not in posted.text
        assert server.served.is_empty


def test_a_file_on_the_server_is_pointed_at(empty: Server) -> None:
    (empty.folder / "old").mkdir()
    (empty.folder / "old" / "people.csv").write_text("age\n" + "\n".join(map(str, range(100))))
    with empty.client(CUSTODIAN) as client:
        assert "old/people.csv" in client.get("/data").text
        fields = open_form(client, "/data/new?source=old/people.csv") | {"entries.person": "row"}
        fill(fields, "age", low="0", high="120")
        assert save(client, fields).status_code == 303
    assert empty.curators.policy.tables["people"].source == str(empty.folder / "old/people.csv")


def test_uploads_have_a_size_and_leave_nothing_that_is_cut_short(
    empty: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 100_000)
    with empty.client(CUSTODIAN) as client:
        too_large = upload(client, "large.csv", b"a\n" * 60_000)
        assert (too_large.status_code, "at most" in too_large.text) == (413, True)
        assert upload(client, "empty.csv", b"").status_code == 400
        assert upload(client, "", b"a\n").status_code == 400
        assert upload(client, "a.exe", b"a\n").status_code == 400
        for body in (b"", b"--x\r\n", b"nothing", b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n'):
            cut = client.post(
                "/data/upload", content=body, headers={"content-type": "multipart/form-data; boundary=x"}
            )
            assert cut.status_code in (400, 403)
        assert (
            client.post("/data/upload", content=b"a", headers={"content-type": "text/csv"}).status_code == 400
        )
    stored = empty.folder / "data"
    assert not stored.exists() or list(stored.iterdir()) == []


def test_bodies_of_other_paths_stay_small(empty: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    large = b"csrf=x&table=" + b"x" * (streamed_bodies.MAX_FORM_BYTES + 10)
    kind = {"content-type": "application/x-www-form-urlencoded"}
    with empty.client(CUSTODIAN) as client:
        assert client.post("/data/form", content=large, headers=kind).status_code == 413
        assert client.post("/check", content=large[: 300 * 1024], headers=kind).status_code == 413


def test_a_refused_form_keeps_what_was_typed_and_says_what_is_wrong_by_each_field(empty: Server) -> None:
    with empty.client(CUSTODIAN) as client:
        fields = fill_in(client)
        fields |= {"entries.person": "", "promise.posterior": "0.5%", "csv.dates": "%d.%m.%Y\r\n%m.%d.%Y"}
        fill(fields, "Größe_cm", low="a lot <i>")
        refused = save(client, fields)
        assert refused.status_code == 400
        shown = read_page(refused.text)
        for name, text in fields.items():
            assert shown.fields[name].split() == text.split(), name
        assert "i" not in shown.tags
        wrong = re.findall(r'class="wrong"[^>]*>([^<]+)<', refused.text)
        assert any(text.startswith("say whom a row is about") for text in wrong)
        assert any("a lot" in text for text in wrong)
        assert any("another day by" in text for text in wrong)
        assert not (empty.folder / "privacy.yaml").exists()


def test_names_in_a_file_are_never_markup_or_formulas(empty: Server) -> None:
    with empty.client(CUSTODIAN) as client:
        fields = fill_in(client)
        assert "Notiz" in "".join(fields.values())
        stored = find_source(
            upload(client, "x.csv", b'"<script>alert(1)</script>";"=1+1"\n1;2\n').headers["location"]
        )
        shown = client.get("/data/new", params={"source": stored})
        assert "<script>alert" not in shown.text
        named = read_page(shown.text).fields
        assert named["columns.0.source_name"] == "<script>alert(1)</script>"
        assert named["columns.1.source_name"] == "=1+1"
        fields = named | {"entries.person": "row", "table": "x"}
        assert save(client, fields).status_code == 303
        for path in ("/data", "/data/table/x", "/check", "/ask"):
            assert "<script>alert" not in client.get(path).text
    assert empty.curators.policy.tables["x"].columns["c_1_1"].source_name == "=1+1"


def test_two_custodians_do_not_overwrite_each_other(empty: Server) -> None:
    with empty.client(CUSTODIAN) as one, empty.client("carl") as other:
        fields = fill_in(one)
        theirs = dict(fields) | {"csrf": other.headers[CSRF_HEADER], "table": "theirs"}
        assert save(one, fields).status_code == 303
        before = (empty.folder / "privacy.yaml").read_bytes()
        refused = save(other, theirs)
        assert refused.status_code == 400
        assert "Somebody else has changed the policy meanwhile" in refused.text
        assert read_page(refused.text).fields["table"] == "theirs"
        assert (empty.folder / "privacy.yaml").read_bytes() == before


def test_a_table_is_changed_in_its_file_with_comments_kept(empty: Server) -> None:
    with empty.client(CUSTODIAN) as client:
        assert save(client, fill_in(client)).status_code == 303
        accept(client)
        path = empty.folder / "privacy.yaml"
        marked = path.read_text().replace("epsilon: 0.1\n", "epsilon: 0.1  # as the board decided\n")
        path.write_text(marked)
        fields = open_form(client, "/data/table/visits")
        assert fields["entries.person"] == "row"
        fill(fields, "Größe_cm", high="210")
        assert save(client, fields).status_code == 303
        assert path.read_text() == marked.replace("high: 220", "high: 210")
        assert "not accepted: analysts are refused" in client.get("/check").text
        with empty.client(ANALYST) as analyst:
            assert analyst.post("/api/ask", json={"sql": "SELECT COUNT(*) FROM visits"}).status_code == 400


def test_saving_a_form_unchanged_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name;age;sex\na;1;f\n")
    text = (
        "promise: {prior: 1%, posterior: 5%}  # ours\n"
        "tables:\n"
        "  people:\n"
        "    source: ./people.csv\n"
        '    csv: {delimiter: ";", quote: "", nulls: ["", NA]}\n'
        "    person: name\n"
        "    columns:\n"
        "      name: {role: identifier}   # nobody sees it\n"
        "      age:\n"
        "        type: integer\n"
        "        low: 0\n"
        "        high: 120   # years\n"
        '      sex: {type: category, values: ["f", m]}\n'
    )
    path = tmp_path / "privacy.yaml"
    path.write_text(text)
    with both_listeners(tmp_path) as server, server.client("carl") as client:
        fields = open_form(client, "/data/table/people")
        assert save(client, fields).status_code == 303
        assert path.read_text() == text
        fill(fields, "age", high="110")
        fields["version"] = open_form(client, "/data/table/people")["version"]
        assert save(client, fields).status_code == 303
        assert path.read_text() == text.replace("high: 120", "high: 110")


def test_another_person_after_a_charge_is_refused_and_the_file_stays(empty: Server) -> None:
    with empty.client(CUSTODIAN) as client:
        assert save(client, fill_in(client)).status_code == 303
        accept(client)
        with empty.client(ANALYST) as analyst:
            first = analyst.post("/api/ask", json={"sql": "SELECT COUNT(*) AS n FROM visits"})
            assert first.status_code == 200
            before = (empty.folder / "privacy.yaml").read_bytes()
            fields = open_form(client, "/data/table/visits")
            fields |= {"entries.person": "Patient Nr", "entries.rows_per_person": "1"}
            refused = save(client, fields)
            assert refused.status_code == 400
            assert "a person of visits is a row" in refused.text
            assert (empty.folder / "privacy.yaml").read_bytes() == before
            again = analyst.post("/api/ask", json={"sql": "SELECT COUNT(*) AS n FROM visits"})
            assert again.json()["rows"] == first.json()["rows"]
            assert empty.charges("analyst") == 1


def test_bounds_that_are_learned_are_written_by_a_button(empty: Server) -> None:
    with empty.client(CUSTODIAN) as client:
        fields = fill_in(client)
        fill(fields, "Größe_cm", low="", high="", resolution="")
        assert save(client, fields).status_code == 303
        accept(client)
        path = empty.folder / "privacy.yaml"
        path.write_text(path.read_text().replace("epsilon: 0.1\n", "epsilon: 0.1  # agreed\n"))
        token = {"csrf": client.headers[CSRF_HEADER]}
        form = token | {"column": "visits.Aufnahme", "epsilon": "0.5", "do": "learn"}
        assert client.post("/bounds", data=form).status_code == 400  # it has bounds
        fields = open_form(client, "/data/table/visits")
        fill(fields, "Aufnahme", low="", high="")
        assert save(client, fields).status_code == 303
        accept(client)
        place = client.post("/bounds", data=form).headers["location"]
        while "Progress of the job" in (shown := client.get(place).text):
            pass
        assert "Write it into the policy" in shown
        assert client.post(place, data={"csrf": "wrong", "do": "write"}).status_code == 403
        with empty.client(ANALYST) as analyst:
            assert (
                analyst.post(place, data={"csrf": analyst.headers[CSRF_HEADER], "do": "write"}).status_code
                == 403
            )
        written = client.post(place, data=token | {"do": "write"})
        assert written.headers["location"] == "/check?saved=visits", written.text
        column = empty.curators.policy.tables["visits"].columns["Aufnahme"]
        assert column.low is not None
        assert column.learned is not None
        assert (column.learned.entry, empty.charges("analyst")) == (1, 1)
        assert "epsilon: 0.1  # agreed\n" in path.read_text()
        fields = open_form(client, "/data/table/visits")
        fill(fields, "Aufnahme", low="2024-01-01", high="2024-12-31")
        assert save(client, fields).status_code == 303
        assert empty.curators.policy.tables["visits"].columns["Aufnahme"].learned is None


def test_the_preview_is_the_error_of_the_plan_and_reads_no_data(empty: Server) -> None:
    with empty.client(CUSTODIAN) as client:
        fields = fill_in(client)
        stored = empty.folder / fields["source"]
        held = stored.read_bytes()
        stored.unlink()
        said = client.post("/data/preview", data=fields).json()["sentence"]
        stored.write_bytes(held)
        assert save(client, fields).status_code == 303
        sql = "SELECT COUNT(*) AS n FROM visits"
        plan = client.post("/api/plan", json={"sql": sql, "epsilon": 0.1}).json()
        count = plan["measures"][0]["error95"]
        assert said.startswith(f"COUNT ± {count:g}, mean of Größe_cm ± ")
        assert said.endswith("for a group of 1,000 rows, at epsilon 0.1 per question.")
        fill(fields, "Größe_cm", low="x")
        assert (
            client.post("/data/preview", data=fields).json()["sentence"].startswith(f"COUNT ± {count:g} for")
        )


def test_nothing_of_the_data_is_in_a_log(empty: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with empty.client(CUSTODIAN) as client:
        fields = fill_in(client)
        client.post("/data/form", data=fields | {"do": "check"}, timeout=PATIENCE)
        assert save(client, fields).status_code == 303
    said = capfd.readouterr()
    texts = [said.out, said.err, *(each.read_text() for each in empty.folder.rglob("*.log"))]
    for word in ("HYPERLINK", "Frau", "P17"):
        assert not any(word in text for text in texts)
