"""`discreet synthesize`: publish a synthetic table whose counts are close to those of the real one."""

from __future__ import annotations

import json

from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, EngineOption, JsonOption, PolicyOption
from discreet.rendering.synthetic_view import print_synthetic, synthetic_to_json, write_synthetic_report
from discreet.rendering.terminal import Console
from discreet.services.policies import load_policy
from discreet.services.synthesize.synthesize_request import PublishRequest
from discreet.services.synthesize.synthetic_publication import publish_synthetic


@options_from(PublishRequest)
def run(
    request: PublishRequest,
    *,
    policy: PolicyOption = DEFAULT_POLICY,
    engine: EngineOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish a synthetic table under the promise.

    Attacks are run on it before it is written.
    """
    with show_progress() as tell:
        made = publish_synthetic(load_policy(policy, engine=engine), request, tell)
        files = (*made.files, write_synthetic_report(made))
    if as_json:
        print(json.dumps(synthetic_to_json(made, files)))
    else:
        print_synthetic(Console(), made, files)
