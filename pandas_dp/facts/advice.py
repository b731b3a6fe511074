"""What is wrong with the arguments of a call, and the line to type instead: that which was typed, mended."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from pandas_dp.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    PandasDPError,
    UnverifiedFrameError,
    closest,
    did_you_mean,
)
from pandas_dp.facts.call import Call, meant_for, safe
from pandas_dp.facts.public_only import COLUMNS, EXAMPLES, PERIODS
from pandas_dp.facts.written import as_written, asked_frame, corrected, is_expression, pivoted, rewritten, with_delta

_OTHER_NAMES = {
    "epsilon": "eps budget total privacy_budget",
    "neighbors": "neighbours neighbor neighbour relation",
    "bounds": "range limits clip clipping lower upper min_value max_value",
    "bins": "edges buckets",
    "keys": "categories values labels groups",
    "unit": "user user_id id privacy_unit unit_column privacy_id person",
    "k": "n n_clusters clusters",
    "blocks": "n_blocks partitions",
    "within": "error accuracy",
    "confidence": "level alpha",
}
OTHER_NAMES = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}
_OF_PANDAS = {  # options that answer another question here, or that nothing needs
    "dropna": "missing values are not counted; null=True counts them as a key of their own",
    "skipna numeric_only": "missing values are always left out of what is asked about their column, so leave it out",
    "as_index observed group_keys": "every listed group comes back in the index; .reset_index() makes it a column",
    "ascending": "the answer is sorted afterwards, for free: .sort_values()",
    "freq": "months are public bins of groupby()",
    "aggfunc": "a two-way table of means or sums is .pivot_table('cost', 'ward', 'sex', aggfunc='sum', ...)",
}
OF_PANDAS = {option: hint for options, hint in _OF_PANDAS.items() for option in options.split()}
BY_NAME = (*COLUMNS, "source", "target", "weight")  # arguments that are columns
# how checks end, and how they begin
TOLD = re.compile(r"(.+?)(?:: |, such as )(\w+)=(.+?)((?:, or |; | or |\. ).*)?", re.DOTALL)
BEGUN = re.compile(r"((\w+)=? (?:must|may|goes|go|takes|is|are|at most) [^:]*)((?:: .*)?)", re.DOTALL)
Parameters = Mapping[str, inspect.Parameter]


def show_line(
    error: PandasDPError, name: str, parameters: Parameters, asked: Any, args: tuple[Any, ...], given: dict[str, Any]
) -> None:
    """Make an error of a question show the call as it was written, with what it lacks or should have."""
    if isinstance(error, UnverifiedFrameError):
        _name_frame(error, as_written(name, args, given))
    if not isinstance(error, ArgumentTypeError | ArgumentValueError) or not hasattr(asked, "_before"):
        return
    placed = tuple(parameters)
    values = dict(zip(placed, args, strict=False)) | given
    written = as_written(name, args, given)
    if error._priced is not None and hasattr(asked, "_before"):
        text, delta = error._priced
        before = asked._before if asked._before.startswith("[") else f".{asked._before}"
        kept = f"{text.partition(')')[0]}){before}{Call(name, args, given).needing(placed, {})}"
        dear = (with_delta(written, delta) if written else None) or kept
        _replace(error, text, dear)
        error._priced = dear, delta  # for the call that was typed
    if error._slip is not None:
        line = written and corrected(written, *error._slip)
        wrong = str(error).partition(": ")[0]
        error.args = (f"{wrong}: {line}" if line else wrong,)
        return
    told = error._needs or _named_in(str(error), parameters) or _begun(name, str(error), parameters, asked, values)
    if told is None or not all(needed in parameters or needed in given for needed, _ in told[1]):
        return
    error._needs = told  # for the call that was typed, where this one was made for it
    why, needs, otherwise = told
    if "bounds='private'" in otherwise and (values.get("method") or not getattr(asked, "_buys_bounds", True)):
        otherwise = ""
    renamed: dict[str | int, str] = {typed[1:]: needed for needed, typed in needs if typed.startswith("=")}
    more = {needed: typed for needed, typed in needs if not (renamed and (needed in renamed or typed.startswith("=")))}
    if hasattr(asked, "_lacks") and not renamed:
        typed = {name: int(text) if text.isdigit() else text for name, text in more.items() if text}
        more |= {name: text for name, text in asked._lacks(parameters, values | typed).items() if name not in more}
    line = written and rewritten(written, placed, values, more, renamed)
    line = line or asked._before + Call(name, args, given).needing(placed, more)
    error.args = (f"{why}: {line}{otherwise}",)


def _replace(error: PandasDPError, text: str, line: str) -> None:
    """Show a line in place of another one."""
    error.args = (str(error).replace(text, line),)
    if error._needs is not None:
        why, needs, otherwise = error._needs
        error._needs = why, needs, otherwise.replace(text, line)


def _name_frame(error: UnverifiedFrameError, written: ast.Call | None) -> None:
    """Put the frame, as it is written in a call, into the lines that protect it."""
    frame = None if written is None else asked_frame(written)
    if frame is None:
        return
    named = frame if frame.isidentifier() else "frame"
    first = "" if named == frame else f"frame = {frame}; "
    for line in (*error._lines, error.UNRELATED):
        error.args = (str(error).replace(line, f"{first}{named}{line.removeprefix('df')}"),)


def _named_in(text: str, parameters: Parameters) -> tuple[str, tuple[tuple[str, str], ...], str] | None:
    """What is wrong, the argument that checks end with, such as ``k=10``, and what they say behind it."""
    if not (found := TOLD.fullmatch(text)):
        return None
    why, name, typed, otherwise = found.groups("")
    return (
        (why, ((name, typed),), otherwise)
        if name in parameters and "..." not in typed and is_expression(typed)
        else None
    )


def _begun(
    call: str, text: str, parameters: Parameters, asked: Any, values: Mapping[str, Any]
) -> tuple[str, tuple[tuple[str, str], ...], str] | None:
    """What is wrong, and the argument that checks begin with; or the first column that is not named by text."""
    found = BEGUN.fullmatch(text)
    if found and found[3] and (";" in found[3] or not re.match(rf": [.\w]*\b{call}\(", found[3])):
        found = None  # it says more than how such a call looks
    if found:
        name = "x" if found[2] == "columns" and "x" in parameters else found[2]
        needed = examples(asked, name, parameters, values) if name in parameters else {}
        return (found[1], tuple(needed.items()), "") if "..." not in needed.values() and needed else None
    if text.startswith("give the column name"):
        wrong = next((name for name in BY_NAME if name in values and not isinstance(values[name], str)), None)
        why, _, more = text.partition(", such as ")
        needed = examples(asked, wrong, parameters, values) if wrong else {}
        if wrong and needed and type(values[wrong]) is tuple and "bounds" in parameters and "bounds" not in values:
            needed |= {"bounds": "(lower, upper)"}
        return (why, tuple(needed.items()), f"; {more.partition('), ')[2]}") if needed else None
    return None


def examples(asked: Any, argument: str, parameters: Parameters, values: Mapping[str, Any]) -> dict[str, str]:
    """How an argument is typed, of a question with columns that there are; with no text where it is left out.

    Several columns come with their bounds.
    """
    known, names = parameters[argument], getattr(asked, "_examples", None)
    numbers, words = ([], []) if names is None else names()
    taken = {value for value in values.values() if isinstance(value, str)}
    listed = [name for key in ("keys", "bins") if isinstance(values.get(key), Mapping) for name in values[key]]
    free = [name for name in (listed or words) if name not in taken] or numbers
    of_numbers = {"bounds", "prices", "step"} & {*parameters}
    pair = [*values["bounds"]] if isinstance(values.get("bounds"), Mapping) else numbers[:2]
    if argument in ("columns", "x", "y") and of_numbers and "values" not in parameters and len(pair) >= 2:
        bounds = {"bounds": f"{{{', '.join(f'{name!r}: (lower, upper)' for name in pair)}}}"}
        return bounds | (
            {"columns": repr(pair)} if argument == "columns" else {"y": repr(pair[0]), "x": repr(pair[1:])}
        )
    if argument == "func" and numbers:
        more = {"weights": ""} if values.get("weights") is not None else {}
        return more | {"func": f"{{{numbers[0]!r}: ['mean', 'std']}}", "bounds": f"{{{numbers[0]!r}: (lower, upper)}}"}
    if argument == "candidates" and "domain" in parameters:
        return {argument: "[last_year, other_town]"}
    if argument in BY_NAME and (numbers or words):
        if argument == "by" and len(listed) > 1:
            return {argument: repr(listed)}
        needs_numbers = (of_numbers or values.get("bins") is not None) and argument in ("column", "values")
        fits = numbers if needs_numbers or argument == "weight" else free
        return {argument: repr((fits or words or numbers)[0])}
    if numbers and argument in ("score", "function", "expr"):
        name = numbers[0] if numbers[0].isidentifier() else f"`{numbers[0]}`"
        line = f"lambda d: d[{numbers[0]!r}].mean()"
        return {argument: {"score": repr(f"{name} >= candidate"), "expr": repr(f"{name} > 40")}.get(argument, line)}
    if argument == "domain" and words:
        return {argument: f"{{{words[0]!r}: ['A', 'B']}}"}
    if argument in EXAMPLES:
        return {argument: EXAMPLES[argument]}
    return {argument: "..." if known.default is known.empty else "" if known.default is None else repr(known.default)}


def misfit(method: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any], example: str) -> str:
    """Say what is wrong with arguments that do not fit, and what to type: of a function, the line that is its example."""
    signature = inspect.signature(method)
    asked: Any = args[0] if args else None
    known, name, before = list(signature.parameters.values()), method.__name__, ""
    if known and known[0].name == "self":
        name = {"__call__": "df.dp", "__init__": type(asked).__name__}.get(name, name)
        before, known, args = getattr(asked, "_before", ""), known[1:], args[1:]
    names = [parameter.name for parameter in known]
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known)
    placed = [parameter.name for parameter in known if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    free = [
        parameter for parameter in known if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in given
    ]

    def line(needs: dict[str, str], renamed: dict[str | int, str]) -> str:
        written = None if example else as_written(method.__name__, args, given)
        typed = written and rewritten(written, tuple(names), given, needs, renamed)
        kept = {renamed.get(name, name): value for name, value in given.items()}
        named = [(renamed[i], value) for i, value in enumerate(args) if renamed.get(i)]
        moved = {name: value if [*renamed.values()].count(name) == 1 else args[-2:] for name, value in named}
        left = tuple(value for i, value in enumerate(args[: len(placed)]) if i not in renamed)
        return example or typed or before + Call(name, left, kept | moved).needing(names, needs)

    def lacks(values: dict[str, Any]) -> dict[str, str]:
        return asked._lacks(names, values) if hasattr(asked, "_lacks") and not example else {}

    unknown = [] if open_ended else [other for other in given if other not in names]
    if name == "crosstab" and "values" in unknown:
        return f"crosstab() counts rows; a column by two others is {_pivot_table(asked, before, args, given)}"
    if unknown:
        right = OTHER_NAMES.get(unknown[0], unknown[0])
        if right in names:
            others = [other for other in unknown if OTHER_NAMES.get(other) == right]
            typed = line(dict.fromkeys(others, "") | {right: EXAMPLES.get(right, "...")}, {})
            return f"{name}() takes {right}=, not {unknown[0]}=: {typed}"
        told, close = _instead(asked, name, unknown[0], names, example), closest(unknown[0], names)
        instead = {"bins": PERIODS} if unknown[0] == "freq" and "bins" in names and "bins" not in given else {}
        if "out" in unknown and "bounds" in names:  # np.mean(...) calls the method with arguments of its own
            instead = {"bounds": "(lower, upper)"}
        typed = line({}, {unknown[0]: close}) if close else line(dict.fromkeys(unknown, "") | instead, {})
        typed = "" if example or told.startswith("the new total") else typed
        return f"{name}() takes {told}{f': {typed}' if typed else ''}"
    if len(args) > len(placed) and placed == ["columns"] and all(isinstance(column, str) for column in args):
        pairs = f", bounds={{{', '.join(f'{safe(column)}: (lower, upper)' for column in args)}}}"
        pairs = pairs if "bounds" in names and "bounds" not in given else ""
        return f"{name}() takes columns as one list: {before}{name}([{', '.join(map(safe, args))}]{pairs})"
    moved: dict[str | int, str] = {}
    ends = args[-2:] if len(args) in (2, len(placed) + 2) and any(one.name == "bounds" for one in free) else ()
    if [*map(type, ends)] in ([int, int], [int, float], [float, int], [float, float]):
        moved = dict.fromkeys(range(len(args) - 2, len(args)), "bounds")
        first = len(args) == 2 and known[0].default is known[0].empty
        needed = examples(asked, names[0], dict(zip(names, known, strict=True)), {}) if first else {}
        return f"{name}() takes bounds by name, as a pair: {line(needed, moved)}"
    if len(placed) < len(args) <= len(placed) + len(free):
        for i, value in enumerate(args[len(placed) :], len(placed)):
            meant = meant_for(value, free)
            if meant is None and free:  # a number of bins; a line that is the example serves any
                bins = next((other for other in free if other.name == "bins" and type(value) is int), None)
                meant = bins or (free[0] if example else None)
            free = [other for other in free if other is not meant]
            moved[i] = "" if meant is None else meant.name
        named = next(filter(None, moved.values()), "")
        values = dict(zip(names, args[: len(placed)], strict=False)) | given
        more = lacks(values | {moved[i]: value for i, value in enumerate(args) if moved.get(i)}) if named else {}
        return f"{name}() takes {f'{named} by name' if named else 'nothing more by place'}: {line(more, moved)}"
    for parameter in known[len(args) :]:
        if parameter.default is parameter.empty and parameter.name not in given:
            if parameter.kind is parameter.VAR_KEYWORD:
                break
            values = dict(zip(names, args, strict=False)) | given
            needed = examples(asked, parameter.name, dict(zip(names, known, strict=True)), values)
            if name == "extend" and not values:
                return f"extend() needs the new total, and why: {asked._raised('epsilon')}"
            return f"{name}() needs {parameter.name}: {line(needed | lacks(values | needed), {})}"
    plain = [parameter.replace(annotation=parameter.empty) for parameter in known]
    shown = example or f"{name}{signature.replace(parameters=plain, return_annotation=signature.empty)}"
    return f"{name}() was given arguments that do not fit: {shown}"


def _pivot_table(asked: Any, before: str, args: tuple[Any, ...], given: dict[str, Any]) -> str:
    """The table of a column by two others, with the arguments of one that counts rows, and what it lacks."""
    names = ("values", "index", "columns")
    rest = {name: value for name, value in given.items() if name != "values"}
    summed = given.get("aggfunc") != "count" and hasattr(asked, "_lacks")
    lacks = asked._lacks(("bounds",), rest | {"column": given["values"]}) if summed else {}
    written = as_written("crosstab", args, given)
    typed = written and rewritten(pivoted(written), names, rest, lacks)
    return typed or before + Call("pivot_table", (given["values"], *args), rest).needing(names, lacks)


def _instead(asked: Any, name: str, unknown: str, names: list[str], example: str) -> str:
    """What a call takes instead of an argument that it does not know."""
    right = OTHER_NAMES.get(unknown, unknown)
    if name == "extend" and closest(unknown, names, 0.7) != "reason":
        term = "delta" if right.startswith("delta") else "epsilon"
        return f"the new total as {'to_delta' if term == 'delta' else 'to'}=, not {unknown}=: {asked._raised(term)}"
    if unknown in ("fresh", "max_groups"):
        typed = f"{unknown}={True if unknown == 'fresh' else 4}"
        return f"no {unknown}=: it goes beside the price: df.dp(epsilon=1, {typed}).{name}(...)"
    if right == "epsilon" and not example:
        return f"no {unknown}=: the price comes first, df.dp(epsilon=0.5).{name}(...)"
    if unknown in OF_PANDAS:
        return f"no {unknown}=: {OF_PANDAS[unknown]}"
    close = did_you_mean(unknown, names)
    takes = f"; it takes {', '.join(f'{other}=' for other in names)}" if names and not close else ""
    return f"no {unknown}={close}{takes}{f': {example}' if example else ''}"
