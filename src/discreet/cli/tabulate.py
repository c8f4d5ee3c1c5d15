"""`discreet tabulate`: publish a table of counts, marginals, or ranges of an ordered column."""

from __future__ import annotations

from discreet.cli.count_command import PublicationBuilder, make_count_command
from discreet.services.count_requests import TabulateRequest


@make_count_command(TabulateRequest)
def run(request: TabulateRequest) -> PublicationBuilder:
    """Publish counts under the promise: a histogram, a contingency table, marginals or ranges."""
    from discreet.services.tabulate import plan_table_release  # deferred: its imports take a second

    return lambda curator, _: plan_table_release(curator, request)
