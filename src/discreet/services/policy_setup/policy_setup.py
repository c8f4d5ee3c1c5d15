"""A server's policy as its custodian makes it: draft a table, preview, check, save, and serve what was saved.

Versions    A form names the version of the policy's text that it was made from. If another custodian saved
            meanwhile, it is refused, and nothing is overwritten.
Saved       The text is edited where the form differs from it (`policy_rewriter`), read again, and must say
            exactly what the form does. Then the policy is opened. If that is refused, as for a privacy unit
            that differs from the one that was charged, the former text is put back and served as before.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core.errors import RequestError
from discreet.core.output_files import write_output
from discreet.core.policy import Policy
from discreet.services.addresses import remove_password
from discreet.services.bounds.policy_writer import BOM, insert_entries
from discreet.services.check.check_report import TableCheck
from discreet.services.check.data_check import check_data
from discreet.services.policies import load_policy, parse_policy_tree, resolve_paths
from discreet.services.policy_draft.policy_draft import save_schema
from discreet.services.policy_draft.table_drafts import SCHEMA_FILE, TableDraft
from discreet.services.policy_setup.noise_preview import NoisePreview, preview_noise
from discreet.services.policy_setup.policy_rewriter import rewrite_policy
from discreet.services.policy_setup.source_choices import (
    PLAIN_ENGINE,
    SourceChoices,
    draft_source,
    list_sources,
)
from discreet.services.policy_setup.table_form import (
    TableForm,
    make_form_from_draft,
    make_form_from_policy,
    parse_table_form,
)
from discreet.services.policy_text import format_policy_text
from discreet.services.yaml_reader import Scalar, YamlTree, read_yaml

if TYPE_CHECKING:
    from discreet.services.serving.served_policy import ServedPolicy

NO_VERSION = "none"
HEAD = f"""\
# yaml-language-server: $schema={SCHEMA_FILE}
# A privacy policy, made in the console. Bounds and values come from what is public, never from the data.
"""


class PolicySetup:
    """The policy of a server as its custodian changes it."""

    def __init__(self, served: ServedPolicy) -> None:
        self._served = served
        self._lock = threading.Lock()

    @property
    def path(self) -> Path:
        """The file of the policy."""
        if self._served.path is None:
            raise RequestError("This server's policy is not in a file.", hint="Change it where it is made.")
        return self._served.path.absolute()

    @property
    def folder(self) -> Path:
        """The folder of the policy, below which its files are."""
        return self.path.parent

    @property
    def has_promise(self) -> bool:
        """True if the policy makes a promise, which this form does not change."""
        return self._served.policy.promise is not None

    def list_sources(self) -> SourceChoices:
        """Return the files and tables that may be brought in."""
        return list_sources(self._served.policy, self.folder)

    def draft_source(self, source: str) -> list[TableDraft]:
        """Return a draft of each table of a source that is listed."""
        return draft_source(source, self._served.policy, self.folder)

    def make_new_form(self, draft: TableDraft) -> TableForm:
        """Return the form of a table that is not in the policy yet."""
        return make_form_from_draft(draft, self.compute_version(), has_promise=self.has_promise)

    def make_table_form(self, table: str) -> TableForm:
        """Return the form of a table of the policy."""
        if table not in self._served.policy.tables:
            raise RequestError("The policy has no such table.", hint="Choose one of those that are listed.")
        return make_form_from_policy(self._read_tree(), table, self.compute_version())

    def compute_version(self) -> str:
        """Return the version of the policy's text: its digest, or `none` if there is no file."""
        if not self.path.exists():
            return NO_VERSION
        return hashlib.sha256(self.path.read_bytes()).hexdigest()[:32]

    def preview_noise(self, form: TableForm) -> NoisePreview:
        """Return the noise of answers under a form; reads no data."""
        return preview_noise(form, self._read_tree())

    def check_form(self, form: TableForm) -> TableCheck:
        """Check the data against a form that need not be saved: for the custodian alone."""
        self._require_listed(form)
        policy = self._resolve(parse_table_form(form, self._read_tree()))
        return check_data(policy, [form.table]).tables[0]

    def save_form(self, form: TableForm) -> None:
        """Write a form into the policy's file and serve it; if that is refused, all stays as it was."""
        with self._lock:
            if form.version != self.compute_version():
                raise RequestError(
                    "Somebody else has changed the policy meanwhile; nothing was saved.",
                    hint="What you typed is still here. Open the table again beside it.",
                )
            self._require_listed(form)
            tree = self._read_tree()
            intended = parse_table_form(form, tree)
            former = self.path.read_bytes() if self.path.exists() else None
            self._replace_file(self._write_text(former, tree, intended), intended)

    def write_learned(self, table: str, column: str, entries: Mapping[str, str]) -> None:
        """Write what was learned of a column into the policy's file, each entry as YAML, and serve it."""
        with self._lock:
            text = insert_entries(self.path, table, column, entries)
            before, _ = parse_policy_tree(self._read_tree())
            assert before is not None  # it is served
            learned = _parse_text(text, self.path).tables[table].columns[column]
            columns = before.tables[table].columns | {column: learned}
            tables = before.tables | {table: before.tables[table].model_copy(update={"columns": columns})}
            self._replace_file(text, before.model_copy(update={"tables": tables}))

    def _replace_file(self, text: bytes, intended: Policy) -> None:
        """Write the file and serve it; if it says anything else or is refused, all stays as it was."""
        former = self.path.read_bytes() if self.path.exists() else None
        try:
            write_output(self.path, text)
            self._require_same(intended)
            self._served.reload()
        except BaseException:
            if former is None:
                self.path.unlink(missing_ok=True)
            else:
                write_output(self.path, former)
            raise
        if former is None:
            save_schema(self.folder)

    def _write_text(self, former: bytes | None, tree: dict[str, YamlTree], intended: Policy) -> bytes:
        if former is None:
            return f"{HEAD}{format_policy_text(intended, self.folder, keeps_defaults=True)}".encode()
        before, _ = parse_policy_tree(tree)
        assert before is not None  # it is served
        marked = former.startswith(BOM)
        text = rewrite_policy(former.decode("utf-8-sig"), before, intended)
        return (BOM if marked else b"") + text.encode()

    def _require_same(self, intended: Policy) -> None:
        """Raise unless the file that was written says what the form does, and nothing else."""
        try:
            written = load_policy(self.path)
        except RequestError:
            written = None
        if written is None or written.model_dump() != resolve_paths(intended, self.folder).model_dump():
            raise RequestError(
                "The policy's file could not be edited without changing something else; nothing was saved.",
                hint=f"Edit {self.path.name} by hand.",
            )

    def _require_listed(self, form: TableForm) -> None:
        """Refuse a form that names a source which is neither the table's own nor one that is listed."""
        known = self._served.policy.tables.get(form.table)
        if form.is_new:
            self.draft_source(form.source)
        elif known is None:
            raise RequestError("The policy has no such table.", hint="Choose one of those that are listed.")

    def _resolve(self, policy: Policy) -> Policy:
        served = self._served.policy
        around = {"engine": served.engine, "ledger": served.ledger}
        return resolve_paths(policy, self.folder).model_copy(update=around)

    def _read_tree(self) -> dict[str, YamlTree]:
        if not self.path.exists():
            address = self._served.policy.engine
            return {} if address == PLAIN_ENGINE else {"engine": Scalar(remove_password(address), True)}
        tree = read_yaml(self.path).tree
        assert isinstance(tree, dict)  # it is served
        return tree


def _parse_text(text: bytes, path: Path) -> Policy:
    """Return the policy of a text that is not written yet."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(text)
        return load_policy(draft)
    finally:
        draft.unlink(missing_ok=True)
