"""`discreet tabulate`: publish a table of counts, marginals, or ranges of an ordered column."""

from __future__ import annotations

from discreet.cli.count_command import PublicationBuilder, make_count_command
from discreet.services.count_requests import TabulateRequest
from discreet.services.tabulate import plan_table_release


@make_count_command(TabulateRequest)
def run(request: TabulateRequest) -> PublicationBuilder:
    """Publish counts: a histogram, a table, marginals or ranges.

    It is charged like a question; repeating it is free.
    """
    return lambda curator, _: plan_table_release(curator, request)
