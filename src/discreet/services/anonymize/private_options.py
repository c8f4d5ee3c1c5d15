"""Parsing of the options of `discreet anonymize --method private`."""

from __future__ import annotations

from discreet.core.errors import RequestError
from discreet.services.anonymize.anonymize_options import AnonymizeRequest, ProgressCallback, parse_levels
from discreet.services.anonymize.model_options import ModelOptions
from discreet.services.anonymize.private_generalizer import PrivateGeneralizer
from discreet.services.anonymize.table_request import ResolvedTable


def build_private_generalizer(
    request: AnonymizeRequest, resolved: ResolvedTable, report_progress: ProgressCallback
) -> PrivateGeneralizer:
    """Return the generalizer for a private release; raise for options that would have no effect."""
    idle = [
        option
        for option, given in (
            ("a model", request.models != ModelOptions() or request.posterior is not None),
            ("--suppress", request.suppress != "0"),
            ("--objective", request.objective != "loss"),
            ("--weight", bool(request.weights)),
            ("--centre", bool(request.centres)),
            ("--pseudonym", bool(request.pseudonyms)),
            ("--earlier", request.chain is not None),
            ("--population", request.population is not None),
            ("--sampling", request.sampling is not None),
            ("--seconds", request.seconds is not None),
            ("--unit", request.unit is not None),
            ("--at-most", request.at_most is not None),
            ("--with", bool(request.others)),
            ("--force", request.force),
        )
        if given
    ]
    if idle:
        raise RequestError(
            f"anonymize: {idle[0]} has no effect on a private release.",
            hint="It takes --epsilon, --delta and --level only.",
        )
    if request.epsilon is None or request.delta is None:
        raise RequestError(
            "anonymize: a private release needs an epsilon and a delta.",
            hint="Write --epsilon 1 --delta 1e-6.",
        )
    return PrivateGeneralizer(
        resolved.policy,
        epsilon=request.epsilon,
        delta=request.delta,
        levels=parse_levels(request.levels),
        analyst=request.analyst,
        progress=report_progress,
    )
