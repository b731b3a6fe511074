"""What a check refuses of a call, and the line to type instead: that which was typed, mended."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from typing import Any

from pandas_dp.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    PandasDPError,
    UnverifiedFrameError,
    closest,
)
from pandas_dp.facts.call import QUESTION, Call
from pandas_dp.facts.chains import grouped
from pandas_dp.facts.public_only import COLUMNS, EXAMPLES
from pandas_dp.facts.written import as_written, asked_frame, behind, corrected, is_expression, rewritten, with_delta

BY_NAME = (*COLUMNS, "source", "target", "weight")  # arguments that are columns
# how checks end, and how they begin
# patterns that few calls need are compiled where they are, so that importing the package costs little
TOLD = r"(?s)(.+?)(?:: |, such as )(\w+)=(.+?)((?:, or |; | or |\. ).*)?"
BEGUN = r"(?s)((\w+)=? (?:must|may|goes|go|takes|is|are|at most) [^:]*)((?:: .*)?)"
FOUND = r"(\['[^']*'\])?\.(size|count|sum|mean)\("  # what groups of found keys answer
WORDS = {"hierarchical": "ranges", "hierarchy": "ranges", "tree": "ranges", "cumulative": "ranges"}
Parameters = Mapping[str, inspect.Parameter]


def show_line(
    error: PandasDPError, name: str, parameters: Parameters, asked: Any, args: tuple[Any, ...], given: dict[str, Any]
) -> None:
    """Make an error of a question show the call as it was written, with what it lacks or should have."""
    written = as_written(name, args, given)
    if isinstance(error, UnverifiedFrameError):
        _name_frame(error, written)
    if name in ("protect", "partition") and error._needs is not None:
        why, lacked, otherwise = error._needs
        opened = written and rewritten(written, tuple(parameters), given, dict(lacked))
        opened = opened or f"df.dp.{Call(name, args, given).needing(parameters, dict(lacked))}"
        error.args = (f"{why}: {opened}{otherwise}",)
    if not isinstance(error, ArgumentTypeError | ArgumentValueError) or not hasattr(asked, "_before"):
        return
    frame = (asked_frame(written) if written else None) or "df"

    def own(text: str) -> str:
        return re.sub(r"\bdf(?=\.|\[| =)", frame, text) if frame.isidentifier() else text

    placed = tuple(parameters)
    values = dict(zip(placed, args, strict=False)) | given
    tail = ""
    if written and name == "groupby":  # which is no question yet
        tail = chain_behind(written, asked)
        if own_groups := grouped(written, asked._empty()):
            closed = "; a bin holds its lower edge" * ("bins=" in own_groups)
            error.args = (f"groups need the name of a column: {own_groups}{tail}{closed}",)
            return
    if error._priced is not None:
        text, delta = error._priced
        before = asked._before if asked._before.startswith("[") else f".{asked._before}"
        kept = f"{text.partition(')')[0]}){before}{Call(name, args, given).needing(placed, {})}"
        dear = (with_delta(written, delta) if written else None) or kept
        dear += tail
        _replace(error, text, dear)
        error._priced = dear, delta  # for the call that was typed
    if error._slip is not None:
        slip, right = error._slip
        line = written and corrected(written, slip, right)
        wanted = {name: right if isinstance(value, str) and value == slip else value for name, value in values.items()}
        if written and hasattr(asked, "_lacks") and (more := asked._lacks(parameters, wanted)):
            line = rewritten(written, placed, wanted, more) or line
        line = line and line + tail
        wrong = str(error).partition(": ")[0]
        error.args = (f"{wrong}: {line}" if line else wrong,)
        return
    told = error._needs or _named_in(str(error), parameters) or _begun(name, str(error), parameters, asked, values)
    q = values.get("q")
    if told and told[1][0][0] == "q" and type(q) is tuple and len(q) == 2 and values.get("bounds") is None:
        told = told[0], (("q", ""), ("bounds", "=q")), told[2]  # ends by place, where levels stand
    if told is not None:  # what should not be there and is not
        words = re.findall(r"'(\w+)'", told[0])
        meant = ((needed, _word(values.get(needed), typed, words)) for needed, typed in told[1])
        told = told[0], tuple((needed, typed) for needed, typed in meant if typed or needed in values), told[2]
    another = told is not None and QUESTION in dict(told[1])
    if another and (written is None or hasattr(asked, "_parts")):  # groups have no other question than theirs
        told = None
    if told is None or not (another or all(needed in parameters or needed in given for needed, _ in told[1])):
        error.args = (own(str(error)),)
        return
    error._needs = told  # for the call that was typed, where this one was made for it
    why, needs, otherwise = told
    bought = "values" not in parameters and not values.get("method") and getattr(asked, "_buys_bounds", True)
    if "bounds='private'" in otherwise and not bought:
        otherwise = ""
    if tail and otherwise.startswith(", or discover") and not re.match(FOUND, tail):
        otherwise = ""
    moved = {typed[1:]: needed for needed, typed in needs if typed.startswith("=")}
    more = {needed: typed for needed, typed in needs if not typed.startswith("=") and (typed or needed not in moved)}
    by_place = placed[: len(args)]
    renamed = {by_place.index(old) if old in by_place else old: new for old, new in moved.items()}
    if hasattr(asked, "_lacks") and not renamed:
        typed = {name: int(text) if text.isdigit() else text for name, text in more.items() if text}
        more |= {name: text for name, text in asked._lacks(parameters, values | typed).items() if name not in more}
    line = written and rewritten(written, placed, values, more, renamed)
    options = {moved.get(option, option): value for option, value in given.items()}
    options |= {new: args[at] for at, new in renamed.items() if isinstance(at, int)}
    left = tuple(value for at, value in enumerate(args) if at not in renamed)
    line = line or asked._before + Call(name, left, options).needing(placed, more)
    error.args = (f"{own(why)}: {line}{tail}{own(otherwise)}",)


def chain_behind(written: ast.Call, asked: Any) -> str:
    """What stands behind the call of groups, with the bounds that it lacks; see `behind`."""
    return behind(
        written, asked._empty(), lambda column: asked._lacks(("bounds",), {"column": column}).get("bounds", "")
    )


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
    for line in error._lines:
        error.args = (str(error).replace(line, f"{first}{named}{line.removeprefix('df')}"),)


def _named_in(text: str, parameters: Parameters) -> tuple[str, tuple[tuple[str, str], ...], str] | None:
    """What is wrong, the argument that checks end with, such as ``k=10``, and what they say behind it."""
    if not (found := re.fullmatch(TOLD, text)):
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
    found = re.fullmatch(BEGUN, text)
    if found and found[3] and (";" in found[3] or not re.match(rf": [.\w]*\b{call}\(", found[3])):
        found = None  # it says more than how such a call looks
    if found:
        name = "x" if found[2] == "columns" and "x" in parameters else found[2]
        needed = examples(asked, name, parameters, values) if name in parameters else {}
        if name == "bounds" and "must lie between" in text:  # which were typed, and are none
            needed = {name: "(lower, upper)"}
        return (found[1], tuple(needed.items()), "") if "..." not in needed.values() and needed else None
    if text.startswith("give the column name"):
        wrong = next((name for name in BY_NAME if name in values and not isinstance(values[name], str)), None)
        why, _, more = text.partition(", such as ")
        needed = examples(asked, wrong, parameters, values) if wrong else {}
        given = values[wrong] if wrong else None
        if wrong and type(given) is list and given and isinstance(given[0], str):
            needed = {wrong: repr(given[0])}
        if wrong and needed and type(given) is tuple and "bounds" in parameters and values.get("bounds") is None:
            needed = {wrong: ""} if getattr(asked, "_column", None) else needed
            needed |= {"bounds": f"={wrong}"}
        return (why, tuple(needed.items()), f"; {more.partition('), ')[2]}") if needed else None
    return None


def _word(given: Any, typed: str, words: list[str]) -> str:
    """How an argument is typed that is one of these words: as the one that was meant, where one is near."""
    if not isinstance(given, str) or typed[1:-1] not in words:
        return typed
    meant = next((word for word in words if given.startswith(word)), WORDS.get(given, ""))
    meant = meant if meant in words else closest(given, words)
    return repr(meant) if meant else typed


def examples(asked: Any, argument: str, parameters: Parameters, values: Mapping[str, Any]) -> dict[str, str]:
    """How an argument is typed, of a question with columns that there are; with no text where it is left out.

    Several columns come with their bounds.
    """
    known, names = parameters[argument], getattr(asked, "_examples", None)
    numbers, words = ([], []) if names is None else names()
    taken = {form for value in values.values() if isinstance(value, str) for form in (value, value[1:-1])}
    by_name = [name for key in ("keys", "bins") if isinstance(values.get(key), Mapping) for name in values[key]]
    free = [name for name in (*(by_name or words), *numbers) if name not in taken] or numbers
    of_numbers = {"bounds", "prices", "step"} & {*parameters}
    typed = [*values["bounds"]] if isinstance(values.get("bounds"), Mapping) else []
    pair = typed + [name for name in numbers if name not in typed][: max(0, 2 - len(typed))]
    if argument in ("columns", "x", "y") and of_numbers and "values" not in parameters and len(pair) >= 2:
        bounds = _pairs(pair, typed)
        return bounds | (
            {"columns": repr(pair)} if argument == "columns" else {"y": repr(pair[0]), "x": repr(pair[1:])}
        )
    if argument == "func" and numbers:
        more = {"weights": ""} if values.get("weights") is not None else {}
        selected = getattr(asked, "_column", None)
        kept = _kept(asked, values.get("func"), [selected] if selected else typed or numbers[:1])
        if selected:
            of = kept.get(selected, ["mean", "std"])
            return (
                more | {"func": repr(of)} | ({} if values.get("bounds") is not None else {"bounds": "(lower, upper)"})
            )
        if not kept:
            kept = {name: ["mean", "std"] if name in numbers else "mean" for name in typed or numbers[:1]}
        func = values.get("func")
        lost = [name for name in func if name not in kept] if isinstance(func, Mapping) else []
        asks = {name: repr(of) for name, of in kept.items()} | dict.fromkeys(lost, "None")
        asked_of = {name: {of} if isinstance(of, str) else {*of} for name, of in kept.items()}
        bounded = [name for name, of in asked_of.items() if name in numbers and of - {"count", "nunique"}]
        pairs = {name: "(lower, upper)" for name in bounded if name not in typed}
        pairs |= {name: "None" for name in typed if name not in bounded}  # which goes
        return more | {"func": as_dict(asks)} | ({"bounds": as_dict(pairs)} if pairs else {})
    if argument == "candidates" and "domain" in parameters:
        return {argument: "[last_year, other_town]"}
    two = {name for of in ("values", "index") if isinstance(name := values.get(of), str)}
    if argument == "columns" and "values" in parameters and len(by_name) == 2 and two == {*by_name}:
        values_of = next((name for name in numbers if name not in by_name), "column")  # the first of three is not there
        return {"values": repr(values_of), "index": repr(values["values"]), "columns": repr(values["index"])}
    if argument in BY_NAME and (numbers or words):
        if argument == "by" and len(by_name) > 1:
            return {argument: repr(by_name)}
        needs_numbers = (of_numbers or values.get("bins") is not None) and argument in ("column", "values")
        fits = numbers if needs_numbers or argument == "weight" else free
        return {argument: repr((fits or words or numbers)[0])}
    if argument == "function" and "sensitivity" in parameters:  # a number that was typed was said of another function
        return {argument: "lambda d: len(d)", "sensitivity": EXAMPLES["sensitivity"]}
    if numbers and argument in ("score", "function", "expr"):
        name = numbers[0] if numbers[0].isidentifier() else f"`{numbers[0]}`"
        line = f"lambda d: d[{numbers[0]!r}].mean()"
        return {argument: {"score": repr(f"{name} >= candidate"), "expr": repr(f"{name} > 40")}.get(argument, line)}
    if argument == "domain" and words:
        return {argument: f"{{{words[0]!r}: ['A', 'B']}}"}
    if argument == "bins" and (values.get("bounds") is not None or values.get("range") is not None):
        return {argument: "10"}
    if argument in EXAMPLES:
        return {argument: EXAMPLES[argument]}
    return {argument: "..." if known.default is known.empty else "" if known.default is None else repr(known.default)}


def _kept(asked: Any, func: Any, columns: list[str]) -> dict[str, Any]:
    """What was asked of columns, or of these, without the functions that there are not."""
    given, known = func if isinstance(func, Mapping) else dict.fromkeys(columns, func), getattr(asked, "_functions", ())
    lists = {name: [one for one in of if one in known] for name, of in given.items() if isinstance(of, list)}
    return {name: lists.get(name, of) for name, of in given.items() if lists.get(name) or of in [*known]}


def _pairs(columns: list[str], typed: list[str]) -> dict[str, str]:
    """Bounds of columns that have none yet."""
    pairs = {name: "(lower, upper)" for name in columns if name not in typed}
    return {"bounds": as_dict(pairs)} if pairs else {}


def as_dict(typed: Mapping[str, str]) -> str:
    """What is typed of each column, as a dict."""
    return f"{{{', '.join(f'{name!r}: {text}' for name, text in typed.items())}}}"
