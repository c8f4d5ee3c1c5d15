"""`discreet itemsets`: find the itemsets that occur in many rows."""

from __future__ import annotations

from discreet.cli.count_command import PublicationBuilder, make_count_command
from discreet.services.count_requests import ItemsetsRequest
from discreet.services.itemsets import plan_itemsets_release


@make_count_command(ItemsetsRequest)
def run(request: ItemsetsRequest) -> PublicationBuilder:
    """Find the itemsets that many rows have.

    It is charged like a question; repeating it is free.
    """
    return lambda curator, _: plan_itemsets_release(curator, request)
