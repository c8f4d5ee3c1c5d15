"""Mining of frequent itemsets and association rules from randomized baskets, in a file or an engine."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.core.errors import RequestError
from discreet.local import BASKET_OPERATORS
from discreet.local.baskets import AssociationRule, FrequentItemsets, find_frequent_itemsets, find_rules
from discreet.mechanisms import get_mechanism_name
from discreet.services.collect.collect_requests import MineRequest
from discreet.services.collect.estimate import describe_reports, estimate_supports, open_reports
from discreet.services.collect.report_files import ReportDescription


@dataclass(frozen=True, kw_only=True)
class MiningResult:
    """Itemsets and rules, and the number of baskets that they were mined from."""

    description: ReportDescription
    request: MineRequest
    clients: int
    frequent: FrequentItemsets
    rules: tuple[AssociationRule, ...]

    def name_items(self, itemset: tuple[int, ...]) -> list[str]:
        """Return the names of an itemset's items."""
        return [self.description.values[item] for item in itemset]


def mine_reports(request: MineRequest) -> MiningResult:
    """Return the itemsets and rules that chance does not explain, from reports in a file or an engine."""
    description = describe_reports(request)
    if not isinstance(description.operator, BASKET_OPERATORS):
        raise RequestError(
            "Itemsets are mined from baskets; these are reports of "
            f"{get_mechanism_name(type(description.operator))}.",
            hint="Use discreet collect estimate.",
        )
    with open_reports(request) as engine:
        supports = estimate_supports(description, engine)
        frequent = find_frequent_itemsets(
            supports, request.min_support, max_size=request.max_size, confidence=request.confidence
        )
        rules = find_rules(supports, frequent, request.min_strength)
        return MiningResult(
            description=description,
            request=request,
            clients=supports.clients,
            frequent=frequent,
            rules=rules,
        )
