"""Options of a command from the fields of its request: `@options_from(AnonymizeRequest)`.

Every field becomes an option with the field's name, type, default and description; `CommandLine` in its
annotation says what these do not. The request is built before the command runs, so the command gets typed
values and never a text to parse.

Typer stays, with this adapter, instead of cyclopts, which reads pydantic models by itself: it is imported in
0.31 seconds instead of 0.41, every command pays that, and help and messages stay what they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args

import typer
from pydantic.fields import FieldInfo

from discreet.cli.option_names import name_options
from discreet.services.request_fields import CommandLine, Request, make_request

Command = Callable[..., None]


def options_from(model: type[Request]) -> Callable[[Command], Command]:
    """Return a decorator for a command whose first parameter is the request.

    The command's other parameters stay options of its own, after those of the request.
    """

    def decorate(run: Command) -> Command:
        _, *others = inspect.signature(run, eval_str=True).parameters.values()

        def run_with_options(**values: Any) -> None:
            rest = {each.name: values.pop(each.name) for each in others}
            run(build_request(model, values), **rest)

        # arguments first, as help lists groups in the order of their first member
        fields = sorted(model.model_fields.items(), key=lambda each: not _get_form(each[1]).is_argument)
        flags = {name: max(_list_flags(name, field), key=len) for name, field in fields}
        parameters = [
            _build_parameter(name, field, flags) for name, field in fields if _get_form(field).is_option
        ]
        parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in others]
        annotations = {each.name: each.annotation for each in parameters}
        run_with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run_with_options.__annotations__ = annotations
        run_with_options.__doc__ = run.__doc__
        return run_with_options

    return decorate


def build_request(model: type[Request], values: Mapping[str, object]) -> Request:
    """Return the request from what was typed; fields that were not typed keep their defaults."""
    given = {
        name: _parse_value(field, values[name])
        for name, field in model.model_fields.items()
        if values.get(name) not in (None, [])
    }
    return make_request(model, **given)


def _parse_value(field: FieldInfo, value: object) -> object:
    parse = _get_form(field).parse
    return value if parse is None else parse(value)


def _build_parameter(name: str, field: FieldInfo, flags: Mapping[str, str]) -> inspect.Parameter:
    form = _get_form(field)
    told = name_options(form.help or field.description or "", flags)
    required = field.is_required()
    typed = form.typed or _get_typed(field.annotation)
    default = inspect.Parameter.empty if required else form.default or _get_default(field, typed)
    if form.is_argument:
        info: Any = typer.Argument(help=told, metavar=form.metavar)
    else:
        info = typer.Option(
            *_list_flags(name, field),
            help=told,
            min=form.least,
            max=form.most,
            metavar=form.metavar,
            rich_help_panel=form.panel or None,
        )
    annotation = typed if required or default is not None else typed | None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, info]
    )


def _get_form(field: FieldInfo) -> CommandLine:
    """Return the form in a field's annotation: the last one, as the first may come with its type."""
    return next((each for each in reversed(field.metadata) if isinstance(each, CommandLine)), CommandLine())


def _list_flags(name: str, field: FieldInfo) -> tuple[str, ...]:
    return _get_form(field).flags or (f"--{name.replace('_', '-')}",)


def _get_typed(annotation: Any) -> Any:
    """Return the type to type a value as: that of the field, without None, and a list for a tuple.

    >>> _get_typed(int | None), _get_typed(tuple[str, ...])
    (<class 'int'>, list[str])
    """
    if getattr(annotation, "__origin__", None) is tuple:
        return list[get_args(annotation)[0]]  # type: ignore[misc]
    options = [each for each in get_args(annotation) if each is not type(None)]
    return options[0] if options else annotation


def _get_default(field: FieldInfo, typed: Any) -> object:
    """Return the default as typed; None where the option need not be given and shows no default."""
    default = field.get_default(call_default_factory=True)
    if isinstance(default, (tuple, dict)) or default is None:
        return None
    return str(default) if typed is str else default
