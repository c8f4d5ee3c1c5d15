"""`discreet init`: draft a policy to fill in, from the columns of files or of an engine's tables."""

from __future__ import annotations

import json

from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import JsonOption
from discreet.rendering.policy_draft_view import draft_to_json, show_draft
from discreet.rendering.terminal import Console
from discreet.services.policy_draft.policy_draft import InitRequest, draft_policy


@options_from(InitRequest)
def run(request: InitRequest, *, as_json: JsonOption = False) -> None:
    """Draft a policy to fill in, from the columns of tables.

    Types are guessed from the tables; bounds and values are left open as ?.
    """
    with show_progress() as report_progress:
        draft = draft_policy(request, report_progress)
    if as_json:
        print(json.dumps(draft_to_json(draft)))
    else:
        show_draft(Console(stderr=True, soft_wrap=True), draft)
