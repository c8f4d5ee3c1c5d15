"""The reference page of the Python API, generated from the public names of `discreet`.

A name has its signature, its description and its example; a class also the members that users need. Other
members exist for the services, and are not listed.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from types import ModuleType

from pydantic import BaseModel

import discreet
from discreet import results
from discreet.core.errors import rename_arguments
from discreet.services.anonymize.anonymize_request import AnonymizeRequest
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.audit.audit_request import AuditRequest
from discreet.services.bounds.bounds_request import BoundsRequest
from discreet.services.check.check_request import CheckRequest
from discreet.services.count_requests import ItemsetsRequest, StreamRequest, TabulateRequest
from discreet.services.question_request import QuestionRequest
from discreet.services.synthesize.synthesize_request import SynthesizeRequest
from discreet.services.train import TrainRequest

GENERATED_NOTICE = "<!-- made by python -m discreet.cli.reference_pages docs/reference -->"
WIDTH = 100
SUBMODULES = ("models", "local", "mining", "belief", "results")
MEMBERS = {
    "Promise": ("epsilon", "gamma", "epsilon_for", "laplace_scale", "gaussian_scale", "admits", "explain"),
    "Policy": ("load", "draft", "fill", "blanks", "save"),
    "Curator": ("open", "open_policy", "check", "plan", "ask", "budget", "close"),
    "Plan": ("cost", "offers", "expected_errors", "belief_change", "to_json"),
    "PlanBatch": ("cost", "cost_alone", "belief_change", "to_json"),
    "Answer": (
        "measures",
        "rows",
        "to_arrow",
        "to_pandas",
        "to_polars",
        "to_table_with_bounds",
        "to_csv",
        "to_json",
    ),
    "AnswerBatch": ("cost_sentence", "to_json"),
    "Anonymizer": ("fit", "list_minimal", "list_best"),
    "Release": ("write", "to_arrow", "to_pandas", "to_polars", "warnings", "describe_level"),
    "AttackEvaluation": (
        "attack_names",
        "broken_bounds",
        "strongest_run",
        "skipped_by_reason",
        "require_bounds",
    ),
    "Belief": (),
    "Budget": (),
    "AuditResult": ("holds", "verdict"),
    "LearnedBounds": ("entry", "is_empty", "describe", "to_arrow", "to_pandas", "to_polars"),
    "DataCheck": ("verdict",),
    "ReleasedCounts": ("to_arrow", "to_pandas", "to_polars"),
    "Stream": ("plan", "ask"),
    "SyntheticTable": ("to_arrow", "to_pandas", "to_polars"),
    "TrainedModel": ("model",),
}
HIDDEN_FIELDS = {
    "Stream": {"answerer", "curator"},
    "Plan": {"query_plan", "stated_plan", "stored_plan", "stored_entries", "key", "plan_at"},
    "PlanBatch": {"parts", "guarantee"},
}
"""Fields of dataclasses that serve the services alone."""
WITHOUT_FIELDS = ("Release", "Promise")
INTRODUCTION = (
    "`import discreet` gives these names, and the submodules "
    + ", ".join(f"`discreet.{name}`" for name in SUBMODULES)
    + ". All other modules are private and may change. Names load on first use; the package is typed "
    "(`py.typed`). In signatures, `Names` are names of columns: a list, or a text with commas between; "
    "`Texts` are texts such as `age=2`; `Real` is an int, a float or a Fraction; `PolicyForm` is a policy: "
    "its path, a dict or a `Policy`; `Frame` is a frame of pandas, polars, Arrow, DuckDB or Spark; `Source` "
    "is an open `Curator`, a policy or a frame; `Columns` declares a frame's columns, as in "
    "[From a data frame](../how-to/ask-a-data-frame.md). A wrong argument is refused by a `DiscreetError` "
    "that names it, before data is read; nothing is charged."
)
REQUESTS: dict[str, type[BaseModel]] = {
    "anonymize": AnonymizeRequest,
    "ask": QuestionRequest,
    "attack": AttackRequest,
    "audit": AuditRequest,
    "check": CheckRequest,
    "itemsets": ItemsetsRequest,
    "learn_bounds": BoundsRequest,
    "open_stream": StreamRequest,
    "synthesize": SynthesizeRequest,
    "tabulate": TabulateRequest,
    "train": TrainRequest,
}
"""Requests whose fields describe the arguments of a verb."""
ARGUMENTS = {
    "anonymize.table": "A table of the policy, or a frame with the columns of its only table.",
    "anonymize.method": "generalize, local, mondrian, mondrian-relaxed, cells or microaggregate: how values "
    "are made coarser.",
    "anonymize.earlier": "For m-invariance: the signatures of the previous release, as an Arrow table.",
    "learn_bounds.values": "Learn the frequent values of a category; needs a promise with a tail.",
    "learn_bounds.write": "Write what is learned into the policy file that `source` names.",
    "source": "An open `Curator`, a policy (its path, a dict or a `Policy`), or a frame.",
    "tabulate.columns": "Columns to count every combination of; for a frame, what is declared of them.",
    "synthesize.columns": "All declared columns by default; for a frame, what is declared of them.",
    "anonymize.policy": "A policy (its path, a dict or a `Policy`), or a frame.",
    "curator": "An open `Curator`: the stream lasts as long as it is open.",
    "analyst": "The analyst who asks; the policy's only one by default.",
    "policy": "The custodian's policy: its path or a `Policy`.",
    "question": "The question in SQL, or its `Plan`.",
    "values": "The values of the parameters $1, $2 … of the question.",
    "split": "Weights by which columns share the cost: `{'n': 1, 'mean': 3}`.",
    "models": "Privacy models of `discreet.models`, or texts such as `l-diversity disease:2:distinct`.",
    "pseudonyms": "Identifiers to replace by keyed pseudonyms, with `key`.",
    "subject": "A promise, an answer, a curator or a trained tree.",
    "folder": "The folder to write to; it is created if it does not exist.",
}
"""Arguments that no field of a request describes for a caller in Python."""
FRAME_ARGUMENTS = {
    "columns": "For a frame: what is declared of its columns, by name: `(low, high)`, a list of values, a "
    "type, or a dict of a policy's entries.",
    "person": "For a frame: the column that identifies people, if they may have several rows.",
    "rows_per_person": "For a frame: the most rows of one person that count.",
    "promise": "For a frame: the promise, a `Promise` or (prior, posterior); from 1% to 5% by default.",
    "ledger": "The ledger to charge, instead of the policy's; for a frame, instead of the session's.",
    "data_version": "The version of the data that stored answers belong to, instead of the policy's.",
    "hierarchies": "For a frame: generalization hierarchies by column, as in a policy.",
}
"""Arguments of a frame, which no request has."""


def generate_python_page() -> str:
    """Return the public API as Markdown."""
    public = [name for name in discreet.__all__ if name != "__version__" and name not in SUBMODULES]
    found = {name: getattr(discreet, name) for name in public}
    errors = [name for name, each in found.items() if inspect.isclass(each) and issubclass(each, Exception)]
    classes = [name for name in MEMBERS if name in found]
    verbs = [name for name, each in found.items() if inspect.isfunction(each)]
    parts = [GENERATED_NOTICE, "# Python", INTRODUCTION, "## Verbs"]
    for name in verbs:
        parts += _format_function(name, found[name])
    parts.append("## Classes")
    for name in classes:
        parts += _format_class(name, found[name])
    parts += ["## Errors", _format_errors(), "## Submodules"]
    for name in SUBMODULES:
        parts += _format_submodule(f"discreet.{name}", getattr(discreet, name))
    parts.append("## Results")
    for name in results.__all__:
        parts += _format_class(name, getattr(results, name))
    left = set(found) - {*verbs, *classes, *errors}
    assert not left, f"{left} have no place on the page"
    return "\n\n".join(parts) + "\n"


def _format_function(name: str, function: object) -> Iterator[str]:
    yield f"### {name}"
    yield _format_code_block("py", _format_signature(name, function))
    *texts, example = _format_text(function)
    yield from texts
    assert callable(function)
    rows = [
        f"| `{each}` | {_describe_argument(name, each)} |" for each in inspect.signature(function).parameters
    ]
    yield "\n".join(["| argument | |", "|---|---|", *rows])
    yield example


def _describe_argument(verb: str, name: str) -> str:
    fields = REQUESTS[verb].model_fields if verb in REQUESTS else {}
    described = (
        ARGUMENTS.get(f"{verb}.{name}")
        or ARGUMENTS.get(name)
        or (name in fields and fields[name].description)
        or FRAME_ARGUMENTS.get(name)
    )
    assert described, f"{verb}({name}=) is not described"
    return _escape_markdown(
        rename_arguments(described, lambda each, value: f"`{each}={value}`" if value else f"`{each}`")
    )


def _format_class(name: str, kind: type) -> Iterator[str]:
    yield f"### {name}"
    if name in ("Promise", "Curator", "Anonymizer"):  # the others are returned, or read from a file
        yield _format_code_block("py", _format_signature(name, kind))
    yield from _format_text(kind)
    if name == "Policy":
        yield "[Policy](policy.md) has the fields; a path is read wherever a policy is taken."
    rows = [*_format_fields(name, kind), *(_format_member(kind, member) for member in MEMBERS[name])]
    if rows:
        yield "\n".join(["| member | |", "|---|---|", *rows])


def _format_fields(name: str, kind: type) -> Iterator[str]:
    if name in WITHOUT_FIELDS or not dataclasses.is_dataclass(kind):
        return
    for field in dataclasses.fields(kind):
        if field.name not in HIDDEN_FIELDS.get(name, ()):
            yield f"| `{field.name}` | {_escape_markdown(f'`{field.type}`')} |"


def _format_member(kind: type, name: str) -> str:
    member = inspect.getattr_static(kind, name)
    if isinstance(member, property | cached_property):
        return f"| `{name}` | {_escape_markdown(_first_sentence(member))} |"
    function = getattr(kind, name)
    signature = inspect.signature(function)
    given = [each for each in signature.parameters if each != "self"]
    return f"| `{name}({', '.join(given)})` | {_escape_markdown(_first_sentence(function))} |"


def _format_errors() -> str:
    """Return the tree of errors from the docstring of its module."""
    module = inspect.getmodule(discreet.DiscreetError)
    assert module is not None
    tree = next(each for each in _split_paragraphs(module) if "DiscreetError" in each)
    return _format_code_block("text", inspect.cleandoc(tree))


def _format_submodule(name: str, module: ModuleType) -> Iterator[str]:
    yield f"### {name}"
    yield from _format_text(module)
    if module is results:
        return
    listed = {each: getattr(module, each) for each in module.__all__}
    rows = [
        f"| `{each}` | {_escape_markdown(_first_sentence(found))} |"
        for each, found in listed.items()
        if getattr(found, "__module__", "").startswith("discreet.")  # tuples of them, and aliases, are not
    ]
    yield "\n".join(["| name | |", "|---|---|", *rows])


def _format_text(subject: object) -> Iterator[str]:
    """Return the paragraphs of a docstring, of a module the first; examples are fenced."""
    for place, each in enumerate(_split_paragraphs(subject)):
        if each.startswith(">>> "):
            yield _format_code_block("pycon", each.replace("  # doctest: +SKIP", ""))
        elif place == 0 or not isinstance(subject, ModuleType):
            yield each.replace("\n", " ")


def _split_paragraphs(subject: object) -> list[str]:
    return (inspect.getdoc(subject) or "").split("\n\n")


def _first_sentence(subject: object) -> str:
    return _split_paragraphs(subject)[0].replace("\n", " ")


def _format_signature(name: str, function: object) -> str:
    assert callable(function)
    signature = inspect.signature(function)
    parts: list[str] = []
    was_positional = True
    for each in signature.parameters.values():
        if each.kind is inspect.Parameter.KEYWORD_ONLY and was_positional:
            parts.append("*")
            was_positional = False
        default = "" if each.default is inspect.Parameter.empty else f" = {_format_default(each.default)}"
        parts.append(f"{each.name}: {each.annotation}{default}")
    returned = "" if inspect.isclass(function) else f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(parts)}){returned}"
    if len(line) <= WIDTH:
        return line
    inner = "".join(f"    {each},\n" for each in parts)
    return f"{name}(\n{inner}){returned}"


def _format_default(value: object) -> str:
    if callable(value):  # a function's repr has its address
        return "…"
    return repr(value.value) if isinstance(value, Enum) else repr(value)


def _format_code_block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _escape_markdown(text: str) -> str:
    return text.replace("|", "\\|")
