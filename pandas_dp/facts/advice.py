"""What a check refuses of a call, and the line to type instead: that which was typed, mended."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from types import MappingProxyType
from typing import Any

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError, UnverifiedFrameError
from pandas_dp.facts.call import QUESTION, Call
from pandas_dp.facts.chains import behind, by_a_step
from pandas_dp.facts.endings import BY_NAME, Parameters, begun, named_in, word
from pandas_dp.facts.habits import reread
from pandas_dp.facts.of_frame import grouped, of_rows
from pandas_dp.facts.other_terms import several
from pandas_dp.facts.pivots import as_groups
from pandas_dp.facts.public_only import EXAMPLES
from pandas_dp.facts.repriced import reprice
from pandas_dp.facts.written import Written, as_dict

# patterns that few calls need are compiled where they are, so that importing the package costs little
STEPS = r"(query|filter|assign|eval|clip|fillna|dropna|merge|rename|drop|explode)\("
FOUND = r"(\['[^']*'\])?\.(size|count|sum|mean)\("  # what groups of found keys answer
PARTS = ("keys", "bins")  # of which the columns say how they are typed
PAIR = "(lower, upper)"
NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Refused:
    """A call that is refused: how it was made, how it stands in the code, what it lacks, and the line to type instead.

    Parameters
    ----------
    name : str
    parameters : mapping of str to inspect.Parameter
        Of the method, without ``self``.
    asked : object
        What was asked: it may know its columns, and what a call about them lacks.
    args, given
        The arguments by place and by name.
    example_line : str
        The line that is shown in any case, if there is one.
    """

    def __init__(
        self,
        name: str,
        parameters: Parameters,
        asked: Any,
        args: tuple[Any, ...],
        given: Mapping[str, Any],
        example_line: str = "",
    ) -> None:
        self.name, self.parameters, self.asked, self.args, self.given = name, parameters, asked, args, dict(given)
        self.names = tuple(parameters)
        self.values = dict(zip(self.names, args, strict=False)) | self.given
        self.example_line = example_line
        self.before = getattr(asked, "_before", "")  # what stands before it where its code cannot be read
        self.written = Written.call(name, args, given)  # as it stands in the code; None where that cannot be read

    @property
    def of_rows(self) -> bool:
        """Whether something with a price is asked, which a query, that has no frame yet, is not."""
        return hasattr(self.asked, "_before") and hasattr(self.asked, "_frame")

    @property
    def frame(self) -> Any:
        """What is asked, or what it is a part of."""
        return self.asked if hasattr(self.asked, "_empty") else getattr(self.asked, "_frame", None)

    @cached_property
    def columns(self) -> set[Any]:
        """Those that there are; none where no frame was named yet, or its session was closed."""
        with suppress(PandasDPError):
            return {*self.frame._empty()} if hasattr(self.frame, "_empty") else set()
        return set()

    @cached_property
    def tail(self) -> str:
        """What stands behind groups, which are no question yet."""
        return behind(self.written, self.asked) if self.written and self.name == "groupby" else ""

    def typed(self, needs: Mapping[str, str], renamed: Mapping[str | int, str] = NOTHING) -> str | None:
        """The call as it was written with other arguments; see `Written.with_arguments`."""
        return self.written.with_arguments(self.names, self.values, needs, renamed) if self.written else None

    def line(self, needs: Mapping[str, str], renamed: Mapping[str | int, str] = NOTHING) -> str:
        """The call with other arguments; where it cannot be read as far as it shows nothing that may be data."""
        if self.example_line or (typed := self.typed(needs, renamed)) is None:
            return self.example_line or self.before + self._unread(renamed).needing(self.names, needs)
        return typed

    def own(self, text: str) -> str:
        """A text about the frame that was asked, by its name: steps of what has a price keep that."""
        if not (written := self.written):
            return re.sub(rf"(?<!= )\bdf\.dp(?=\.{STEPS})", "", text)
        held, frame = ast.unparse(written.priced(self.columns)), written.frame
        if ".dp(" not in held:
            text = re.sub(rf"\bdf = df\.dp(?=\.{STEPS})", f"{held} = {held}", text)
        before = held if hasattr(self.asked, "_parts") else ast.unparse(written.node.func.value)
        text = re.sub(rf"(?<!= )\bdf\.dp(?=\.{STEPS})", lambda _: before, text)
        return re.sub(r"\bdf(?=\.|\[| =)", frame, text) if frame.isidentifier() else text

    def _unread(self, renamed: Mapping[str | int, str]) -> Call:
        """The call of what it was given, some of it under other names."""
        by_place = [
            place for place, known in enumerate(self.parameters.values()) if known.kind is known.POSITIONAL_OR_KEYWORD
        ]
        kept = {renamed.get(name, name): value for name, value in self.given.items()}
        for place, value in enumerate(self.args):
            if name := renamed.get(place):
                kept[name] = value if [*renamed.values()].count(name) == 1 else self.args[-2:]
        left = (value for place, value in zip(by_place, self.args, strict=False) if place not in renamed)
        return Call(self.name, tuple(left), kept)

    def lacks(self, more: Mapping[str, Any] = NOTHING) -> dict[str, str]:
        """What it lacks beside what is named already, as its columns say."""
        if self.example_line or not hasattr(self.asked, "_lacks"):
            return {}
        return dict(self.asked._lacks(self.names, {**self.values, **more}))

    def completed(self, missing: Iterable[str], more: Mapping[str, str] = NOTHING) -> dict[str, str]:
        """How missing arguments are typed, and what the call lacks then."""
        found = dict(more)
        for argument in missing:
            if argument not in found:
                found |= self.example(argument, found)
        return found | self.lacks({name: text for name, text in found.items() if name in more or name not in PARTS})

    def example(self, argument: str, more: Mapping[str, Any] = NOTHING) -> dict[str, str]:
        """How an argument is typed, of a question with columns that there are; with no text where it is left out.

        Several columns come with their bounds.
        """
        known, names = self.parameters[argument], getattr(self.asked, "_examples", None)
        values: dict[str, Any] = {**self.values, **more}
        numbers, words = ([], []) if names is None else names()
        taken = {form for value in values.values() if isinstance(value, str) for form in (value, value[1:-1])}
        by_name = [name for key in PARTS if isinstance(values.get(key), Mapping) for name in values[key]]
        free = [name for name in (*(by_name or words), *numbers) if name not in taken] or numbers
        of_numbers = {"bounds", "prices", "step"} & {*self.parameters}
        typed = [*values["bounds"]] if isinstance(values.get("bounds"), Mapping) else []
        pair = typed + [name for name in numbers if name not in typed][: max(0, 2 - len(typed))]
        if argument in ("columns", "x", "y") and of_numbers and "values" not in self.parameters and len(pair) >= 2:
            lacking = {name: PAIR for name in pair if name not in typed and self.unbounded(name)}
            named = {"columns": pair} if argument == "columns" else {"y": pair[0], "x": pair[1:]}
            return ({"bounds": as_dict(lacking)} if lacking else {}) | {name: repr(of) for name, of in named.items()}
        if argument == "func" and numbers:
            return self._functions(values, numbers, typed)
        two = {name for of in ("values", "index") if isinstance(name := values.get(of), str)}
        if argument == "columns" and "values" in self.parameters and len(by_name) == 2 and two == {*by_name}:
            # the first of three is not there
            values_of = next((name for name in numbers if name not in by_name), "column")
            return {"values": repr(values_of), "index": repr(values["values"]), "columns": repr(values["index"])}
        if argument in BY_NAME and (numbers or words):
            if argument == "by" and len(by_name) > 1:
                return {argument: repr(by_name)}
            needs_numbers = (of_numbers or values.get("bins") is not None) and argument in ("column", "values")
            fits = numbers if needs_numbers or argument == "weight" else free
            return {argument: repr((fits or words or numbers)[0])}
        if (
            argument == "function" and "sensitivity" in self.parameters
        ):  # a number that was typed was said of another one
            return {argument: "lambda d: len(d)", "sensitivity": EXAMPLES["sensitivity"]}
        own = {"domain": f"{{{words[0]!r}: ['A', 'B']}}"} if words else {}
        if numbers:
            name = numbers[0] if numbers[0].isidentifier() else f"`{numbers[0]}`"
            own |= {"score": repr(f"{name} >= candidate"), "expr": repr(f"{name} > 40")}
            own["function"] = f"lambda d: d[{numbers[0]!r}].mean()"
        if "domain" in self.parameters:
            own["candidates"] = "[last_year, other_town]"
        if values.get("bounds") is not None or values.get("range") is not None:
            own["bins"] = "10"
        default = "..." if known.default is known.empty else "" if known.default is None else repr(known.default)
        return {argument: own.get(argument) or EXAMPLES.get(argument, default)}

    def unbounded(self, column: str) -> bool:
        """Whether no schema says the bounds of a column."""
        lacks = getattr(self.asked, "_lacks", None)
        return lacks is None or "bounds" in lacks(("bounds",), {"column": column})

    def _functions(self, values: Mapping[str, Any], numbers: list[str], typed: list[str]) -> dict[str, str]:
        """What is asked of columns, without the functions that there are not, and with the bounds that it takes."""
        func, selected = values.get("func"), getattr(self.asked, "_column", None)
        more = {"weights": ""} if values.get("weights") is not None else {}
        given = (
            func if isinstance(func, Mapping) else dict.fromkeys([selected] if selected else typed or numbers[:1], func)
        )
        known = [*getattr(self.asked, "_functions", ())]
        lists = {name: [one for one in of if one in known] for name, of in given.items() if isinstance(of, list)}
        kept: dict[str, Any] = {
            name: lists.get(name, of) for name, of in given.items() if lists.get(name) or of in known
        }
        if selected:
            bounds = {} if values.get("bounds") is not None else {"bounds": PAIR}
            return more | {"func": repr(kept.get(selected, ["mean", "std"]))} | bounds
        kept = kept or {name: ["mean", "std"] if name in numbers else "mean" for name in typed or numbers[:1]}
        lost = [name for name in func if name not in kept] if isinstance(func, Mapping) else []
        asks = {name: repr(of) for name, of in kept.items()} | dict.fromkeys(lost, "None")
        asked = {name: {of} if isinstance(of, str) else {*of} for name, of in kept.items()}
        bounded = [name for name, of in asked.items() if name in numbers and of - {"count", "nunique"}]
        pairs = {name: PAIR for name in bounded if name not in typed}
        pairs |= {name: "None" for name in typed if name not in bounded}  # which goes
        return more | {"func": as_dict(asks)} | ({"bounds": as_dict(pairs)} if pairs else {})


def show_line(error: PandasDPError, call: Refused) -> None:
    """Make an error of a question show the call as it was written, with what it lacks or should have."""
    asked, values = call.asked, call.values
    if isinstance(error, UnverifiedFrameError) and call.written:
        _name_frame(error, call.written.frame)
        if "# continues" in str(error) and (line := by_a_step(call.written, call.frame)):
            error._choose(line)
    if call.name in ("protect", "partition") and error._needs is not None:
        why, needs, otherwise = error._needs
        lacked = dict(needs)
        opened = call.typed(lacked) or f"df.dp.{call.line(lacked)}"
        error.args = (f"{why}: {opened}{otherwise}",)
    if isinstance(error, ArgumentTypeError | ArgumentValueError) and (other := reread(call)):
        error.args = (other,)
        return
    if isinstance(error, ArgumentTypeError) and call.written and (rows := of_rows(call.written, call.frame)):
        takes = "functions of a row" if call.name == "assign" else "a condition on columns"
        error.args = (f"{call.name}() takes {takes}: {rows}",)
        return
    if not isinstance(error, ArgumentTypeError | ArgumentValueError) or not hasattr(asked, "_before"):
        return
    if call.written and call.name == "pivot_table" and (groups := as_groups(call.written, call.frame)):
        error.args = (f"{str(error).partition(': ')[0]}; as groups: {groups}",)
        return
    unknown = str(error).startswith("no column named")
    if call.written and call.name == "groupby" and (groups := grouped(call.written, asked, unknown)):
        closed = "; a bin holds its lower edge" * ("cut(" in ast.unparse(call.written.node) and "bins=" in groups)
        why = str(error).partition(": ")[0] if unknown else "groups need the name of a column"
        error.args = (f"{why}: {groups}{call.tail}{closed}",)
        return
    if error._priced is not None:
        reprice(error, call)
    if error._slip is not None:
        slip, right = error._slip
        line = call.written.with_text(slip, right) if call.written else ""
        call.values |= {name: right for name, value in values.items() if isinstance(value, str) and value == slip}
        if line and (more := call.lacks()):
            line = call.typed(more) or line
        wrong = str(error).partition(": ")[0]
        error.args = (f"{wrong}: {line}{call.tail}" if line else wrong,)
        return
    if str(error).startswith("give the column name") and (together := several(call)):
        error.args = (f"several columns are selected in brackets: {together}",)
        return
    told = error._needs or named_in(str(error), call.parameters) or begun(str(error), call)
    q = values.get("q")
    if (
        told
        and told[1][0][0] == "q" in call.parameters
        and type(q) is tuple
        and len(q) == 2
        and values.get("bounds") is None
    ):
        told = told[0], (("q", ""), ("bounds", "=q")), told[2]  # ends by place, where levels stand
    if told is not None:  # what should not be there and is not
        words = re.findall(r"'(\w+)'", told[0])
        meant = ((needed, word(values.get(needed), typed, words)) for needed, typed in told[1])
        told = told[0], tuple((needed, typed) for needed, typed in meant if typed or needed in values), told[2]
    another = told is not None and QUESTION in dict(told[1])
    if another and (call.written is None or hasattr(asked, "_parts")):  # groups have no other question than theirs
        told = None
    if told is None or not (another or all(needed in call.parameters or needed in call.given for needed, _ in told[1])):
        error.args = (call.own(str(error)),)
        return
    error._needs = told  # for the call that was typed, where this one was made for it
    why, needs, otherwise = told
    bought = "values" not in call.parameters and not values.get("method") and getattr(asked, "_buys_bounds", True)
    if "bounds='private'" in otherwise and not bought:
        otherwise = ""
    if call.tail and otherwise.startswith(", or discover") and not re.match(FOUND, call.tail):
        otherwise = ""
    moved = {typed[1:]: needed for needed, typed in needs if typed.startswith("=")}
    more = {needed: typed for needed, typed in needs if not typed.startswith("=") and (typed or needed not in moved)}
    by_place = call.names[: len(call.args)]
    renamed = {by_place.index(old) if old in by_place else old: new for old, new in moved.items()}
    if not renamed and (call.name != "agg" or {*more} <= {*call.parameters}):  # named answers say their own bounds
        typed = {name: int(text) if text.isdigit() else text for name, text in more.items() if text}
        more = more | call.lacks(typed) | more
    error.args = (f"{call.own(why)}: {call.line(more, renamed)}{call.tail}{call.own(otherwise)}",)


def _name_frame(error: UnverifiedFrameError, frame: str) -> None:
    """Put the frame, as it is written in a call, into the lines that protect it."""
    named = frame if frame.isidentifier() else "frame"
    first = "" if named == frame else f"frame = {frame}; "
    for line in error._lines if frame else ():
        error.args = (str(error).replace(line, f"{first}{named}{line.removeprefix('df')}"),)
