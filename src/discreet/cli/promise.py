"""`discreet promise`: the meaning of a promise, or of an epsilon that was chosen in another way."""

from __future__ import annotations

import json

from discreet.cli.plot_option import PlotOption, save_plot
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import JsonOption
from discreet.rendering.promise_view import explanation_to_json, show_explanation
from discreet.rendering.terminal import Console
from discreet.services.promise import PromiseRequest, state_promise


@options_from(PromiseRequest)
def run(
    request: PromiseRequest,
    *,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a promise in words, odds and, with --plot, a chart."""
    made, choice = state_promise(request)
    if plot is not None:
        save_plot(made, plot)
    if as_json:
        print(json.dumps(explanation_to_json(made, choice, request.people)))
    else:
        show_explanation(Console(), made, choice, request.people)
        if plot is not None:
            Console(stderr=True).print(f"The picture is in {plot}.", highlight=False)
