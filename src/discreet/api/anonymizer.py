"""Publishing a recoded table from Python: an anonymizer finds a release, and the release publishes itself.

Only what `Release.write` writes may be published: it attacks the release before, records it in the ledger and
puts the certificate beside the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.core.argument_types import refuse_wrong_types
from discreet.core.number_checks import parse_probability, require_probability
from discreet.rendering.release_report import render_release_report
from discreet.services.anonymize import anonymizer, release
from discreet.services.anonymize.release_publishing import publish_release, require_release_bounds


class Release(release.Release):
    """A recoded table that meets its models, not yet written; only its rows may be published."""

    @refuse_wrong_types
    def write(
        self,
        path: str | Path,
        *,
        at_most: float | str | None = None,
        others: Sequence[str | Path] = (),
        force: bool = False,
    ) -> list[Path]:
        """Attack it; if no bound is broken, publish it with certificate, report and ledger entry.

        `at_most` bounds the belief that any attack may reach; `others` are other releases that attackers
        have. With `force` it is published even if a bound is broken; the certificate marks it as forced.
        Return the written paths.
        """
        if isinstance(at_most, str):
            at_most = parse_probability("`at_most=`", at_most)
        if at_most is not None:
            require_probability("Release.write", "at_most", at_most)
        trial = require_release_bounds(self, at_most=at_most, others=others, force=force)
        files = publish_release(
            self, path, trial, at_most=at_most, forced=force, render_report=render_release_report
        )
        return [Path(each) for each in files]

    @refuse_wrong_types
    def to_arrow(self, *, force: bool = False) -> pa.Table:
        """Return the published rows if no attack breaks a bound; the ledger records only `write`."""
        require_release_bounds(self, force=force)
        return self.read_rows()

    def to_pandas(self, *, force: bool = False) -> Any:
        """Return the published rows as a pandas frame, under the same conditions."""
        return self.to_arrow(force=force).to_pandas()

    def to_polars(self, *, force: bool = False) -> Any:
        """Return the published rows as a polars frame, under the same conditions."""
        import polars as pl  # an optional companion

        return pl.from_arrow(self.to_arrow(force=force))


class Anonymizer(anonymizer.Anonymizer):
    """Finds a release of a table that meets the models.

    `anonymize` is the short form of it; an anonymizer also lists other generalizations to choose from.

    >>> from discreet.models import KAnonymity
    >>> anonymizer = Anonymizer("sample/privacy.yaml", models=[KAnonymity(k=5)])  # doctest: +SKIP
    >>> search, columns = anonymizer.list_best("hospital", 3)  # doctest: +SKIP
    """

    release_type = Release
    release: Release
