"""Arguments that do not fit a call: misspelt, missing or in the wrong place; and the line to type instead."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from pandas_dp.errors import closest, did_you_mean
from pandas_dp.facts.advice import Refused
from pandas_dp.facts.as_text import step_that_makes
from pandas_dp.facts.call import QUESTION, Call, meant_for, safe
from pandas_dp.facts.chains import joined
from pandas_dp.facts.habits import reread
from pandas_dp.facts.kinds import IDENTIFIER, kind_or_none
from pandas_dp.facts.other_names import LEVELS, OTHER_NAMES, RELATIONS
from pandas_dp.facts.other_terms import crossed, in_other_terms
from pandas_dp.facts.pivots import as_groups, at_price
from pandas_dp.facts.public_only import EXAMPLES, PERIODS, listed
from pandas_dp.facts.written import as_dict

_OF_PANDAS = {  # options that answer another question here, or that nothing needs
    "dropna": "missing values are not counted; null=True counts them as a key of their own",
    "skipna numeric_only": "rows with a missing value in the column are always left out, so omit this argument",
    "as_index observed group_keys": "every listed group comes back in the index; .reset_index() makes it a column",
    "ascending": "the answer is sorted afterwards, for free: .sort_values()",
    "freq": "months are public bins of groupby()",
    "unit max_rows neighbors": "it is set once for the budget, df.dp.protect(epsilon=3, unit='patient_id', max_rows=10)",
    "weights": "each row counts once; for a weighted mean ask two sums: of products, by df.dp.assign(), and of weights",
    "alpha": "an error bar comes with the answer, for free: .interval(0.95)",
    "nonnegative": "a count may come out below 0; of several, pandas_dp.reconcile([...], nonnegative=True) is free",
    "how thresh": "a row goes that lacks one of the values that are named, as in df.dp.dropna(['age', 'ward'])",
    "axis": "rows go by their values, and columns by df.dp.drop(columns=[...])",
    "aggfunc": "a two-way table of means or sums is .pivot_table('cost', 'ward', 'sex', aggfunc='sum', ...)",
}
OF_PANDAS = {option: hint for options, hint in _OF_PANDAS.items() for option in options.split()}
_OF_PRICES = {  # what goes with no price; each with the line to type
    "sigma scale std stddev variance noise_scale noise_multiplier": (
        "the price makes the noise, and a preview shows it: df.dp.preview(rho=0.01); or name the error: df.dp(within=20)"
    ),
    "mechanism noise": (
        "a plain epsilon= is paid for Laplace noise on counts and sums, rho= for Gaussian noise: df.dp(rho=0.01)"
    ),
    "accountant": "the budget has it: df.dp.protect(epsilon=3, delta=1e-6, accountant='zcdp')",
    "period": "it comes before the price: df.dp.period('2026-11').dp(epsilon=0.5)",
}
OF_PRICES = {option: hint for options, hint in _OF_PRICES.items() for option in options.split()}
MEANING = {
    "sensitivity": ", the most by which one unit, such as a person with all their rows, can move the function's result"
}


def misfit(method: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any], example: str) -> str:
    """Say what is wrong with arguments that do not fit, and what to type: of a function, the line that is its example."""
    parameters = dict(inspect.signature(method).parameters)
    asked: Any = args[0] if args else None
    name = method.__name__
    if next(iter(parameters), "") == "self":
        name = {"__call__": "df.dp", "__init__": type(asked).__name__}.get(name, name)
        args = args[1:]
        del parameters["self"]
    call, known = Refused(name, parameters, asked, args, given, example), [*parameters.values()]
    if told := reread(call):
        return told
    placed = [one.name for one in known if one.kind is one.POSITIONAL_OR_KEYWORD]
    free = [one for one in known if one.kind is one.KEYWORD_ONLY and one.name not in given]
    open_ended = any(one.kind is one.VAR_KEYWORD for one in known)
    unknown = [] if open_ended else [other for other in given if other not in parameters]
    missing = [one.name for one in known if one.default is one.empty and one.name not in call.values]
    missing = [argument for argument in missing if parameters[argument].kind is not inspect.Parameter.VAR_KEYWORD]
    if unknown:
        told = f"{name}() {_unknown(call, unknown, missing)}"
        return call.own(told) if call.of_rows else told
    if len(args) > len(placed) and placed in (["columns"], ["by"]) and all(isinstance(column, str) for column in args):
        pairs = as_dict(dict.fromkeys(args, "(lower, upper)"))
        call.values = {placed[0]: [*args], **given}
        needed = {"bounds": pairs} if "bounds" in parameters and "bounds" not in given else call.lacks()
        needed = {placed[0]: f"[{', '.join(map(safe, args))}]"} | needed
        return f"{name}() takes columns as one list: {call.line(needed, dict.fromkeys(range(len(args)), ''))}"
    if name == "crosstab" and (line := crossed(call)):
        return f"crosstab() takes two columns; counts of more together: {line}"
    if name == "group_privacy" and len(args) == 3:
        pair = re.sub(r"e-0(?=\d)", "e-", f"({args[0]!r}, {args[1]!r}), {args[2]!r}")
        return f"group_privacy() takes an epsilon and its delta as a pair: group_privacy({pair})"
    of_levels = (
        placed[-1:] == ["q"] and len(args) == len(placed) + 1 and type(args[-1]) in (int, float) and args[-1] > 1
    )
    ended = (len(args) in (2, len(placed) + 2) or of_levels) and any(one.name == "bounds" for one in free)
    if [*map(type, args[-2:] if ended else ())] in ([int, int], [int, float], [float, int], [float, float]):
        first = len(args) == 2 and known[0].default is known[0].empty
        needed = Refused(name, parameters, asked, (), {}).example(call.names[0]) if first else {}
        line = call.line(needed, dict.fromkeys((len(args) - 2, len(args) - 1), "bounds"))
        return f"{name}() takes bounds by name, as a pair: {line}"
    if len(placed) < len(args) <= len(placed) + len(free):
        moved: dict[str | int, str] = {}
        for i, value in enumerate(args[len(placed) :], len(placed)):
            meant = meant_for(value, free)
            if meant is None and free:  # a number of bins; a line that is the example serves any
                bins = next((other for other in free if other.name == "bins" and type(value) is int), None)
                meant = bins or (free[0] if example else None)
            free = [other for other in free if other is not meant]
            moved[i] = "" if meant is None else meant.name
        named = next(filter(None, moved.values()), "")
        call.values = dict(zip(placed, args, strict=False)) | given
        lacking = call.lacks({moved[i]: value for i, value in enumerate(args) if moved.get(i)})
        return f"{name}() takes {f'{named} by name' if named else 'nothing more by place'}: {call.line(lacking, moved)}"
    if missing and name == "extend" and not call.values:
        return f"extend() needs the new total, and why: {asked._raised('epsilon')}"
    if (
        missing
        and name == "pivot_table"
        and call.of_rows
        and call.written
        and (groups := as_groups(call.written, call.frame))
    ):
        return f"{name}() needs {' and '.join(missing)}; as groups: {groups}"
    if missing:
        told = " and ".join(filter(None, [", ".join(missing[:-1]), f"{missing[-1]}{MEANING.get(missing[-1], '')}"]))
        return f"{name}() needs {told}: {call.line(call.completed(missing))}"
    plain = [one.replace(annotation=one.empty) for one in known]
    return f"{name}() was given arguments that do not fit: {example or f'{name}{inspect.Signature(plain)}'}"


def _unknown(call: Refused, unknown: list[str], missing: list[str]) -> str:
    """What a call takes that was given arguments which it does not know."""
    name, given, names, first = call.name, call.given, call.names, unknown[0]
    if name == "crosstab" and "values" in unknown:
        return f"counts rows; for means or sums of a column type {_pivot_table(call)}"
    if name == "value_counts" and "bins" in unknown:
        needs = {other: "" for other in given if other != "bins"} | {QUESTION: "histogram"}
        needs |= {"bounds": "(lower, upper)"} if type(given["bins"]) is int else {}
        return f"counts single values; ranges are {call.line(needs)}"
    if name == "merge" and all(isinstance(given.get(side), str) for side in ("left_on", "right_on")):
        return f"takes on=, one name for the keys of both: {joined(call.written, given['left_on'], given['right_on'])}"
    if name in ("fillna", "rename") and all(other in call.asked._empty() for other in unknown):
        columns = as_dict({other: safe(given[other]) for other in unknown})
        return f"takes a dict of columns: {call.line(dict.fromkeys(unknown, '') | {names[0]: columns})}"
    if told := in_other_terms(call, first):
        return told
    renamed, needs = _meant(given, unknown, names)
    if renamed or needs:
        wrong = next(other for other in unknown if other in renamed or other in needs)
        right = renamed.get(wrong) or next(other for other in needs if other in names)
        terms = {*given, *renamed.values()}
        if name == "protect" and "unit" in terms and "max_rows" not in terms:
            needs |= {"max_rows": "10"}
        of_alpha = f", which is 1 - {right}" if wrong == "alpha" else ""
        typed = call.typed(needs, renamed) or call.line(needs, renamed)  # with the number that was typed
        return f"takes {right}=, not {wrong}={of_alpha}: {typed}"
    told = _instead(call, first)
    close = "" if first in OF_PANDAS else closest(first, [other for other in names if other not in given])
    instead = {"bins": PERIODS} if first == "freq" and "bins" in names and "bins" not in given else {}
    if given.get("dropna") is False and "null" in names:
        instead = {"null": "True"}
    if "out" in unknown and "bounds" in names:  # np.mean(...) calls the method with arguments of its own
        instead = {"bounds": "(lower, upper)"}
    if name in ("df.dp", "preview") and not {"epsilon", "rho", "within"} & {*call.values, close} and not call.args:
        instead = {**instead, "epsilon": EXAMPLES["epsilon"]}
    if first == "numeric_only" and call.of_rows and (line := _of_each(call)):
        return f"takes {told}: {line}"
    bare = not close and not instead and "; it takes " in told
    call.values = {other: value for other, value in call.values.items() if other in names}
    if "columns" in names and "columns" not in call.values:
        missing = [*missing, "columns"]
    instead = call.completed(missing if hasattr(call.asked, "_lacks") else (), instead)
    mended = call.lacks({close: given[first]}) if close else {}
    typed = call.line(mended, {first: close}) if close else call.line(dict.fromkeys(unknown, "") | instead)
    if call.of_rows and (price := next((of for of in ("epsilon", "rho") if of in unknown), "")):
        known = price == "epsilon" or getattr(call.frame._price, "rho", None) is not None
        typed = at_price(typed, f"{price}={given[price]!r}", call.frame) if known and typed else ""
    priced = told.endswith(OF_PRICES.get(first, "-"))
    typed = (
        "" if call.example_line or priced or told.startswith("the new total") or name == "dropna" else typed + call.tail
    )
    without = "; without it" if typed and bare else ""
    by: Any = call.values.get("by") if "bins" in instead else None
    kind = kind_or_none(call.asked._empty()[by].dtype) if isinstance(by, str) and by in call.asked._empty() else None
    if kind is not None and kind.name == "key":  # text, of which dates are read first
        dates = step_that_makes(by, ".str.to_datetime('%Y-%m-%d')")
        typed = typed.replace(".groupby(", f"{dates}.groupby(", 1)
    return f"takes {told}{without}{f': {typed}' if typed else ''}"


def _of_each(call: Refused) -> str:
    """The question of each column of numbers, where none was named; no text where there are not several."""
    named = {"column", "columns"} & {*call.values} or getattr(call.asked, "_column", None) or "column" not in call.names
    columns = [name for name in call.frame._examples()[0] if re.fullmatch(IDENTIFIER, name) is None]
    if named or not call.written or len(columns) < 2:
        return ""
    pairs = {of: "(lower, upper)" for of in columns if call.unbounded(of)}
    bounds = f"bounds={as_dict(pairs)}" if pairs and "bounds" in call.names else ""
    return f"{ast.unparse(call.written.node.func.value)}[{columns!r}].{call.name}({bounds})"


def _meant(
    given: Mapping[str, Any], unknown: list[str], names: tuple[str, ...]
) -> tuple[dict[str | int, str], dict[str, str]]:
    """What goes by another name here, and keeps what was typed; and what is typed in another way, with the names left out."""
    renamed: dict[str | int, str] = {}
    needs: dict[str, str] = {}
    for other in unknown:
        value = given[other]
        right = next((name for name in LEVELS if name in names), "") if other == "alpha" else OTHER_NAMES.get(other)
        if right not in names or not right or right in given:
            continue
        text = ""
        if right == "neighbors" and isinstance(value, str):
            text = repr(RELATIONS.get(value, value))
        elif other == "alpha":
            text = f"{1 - value:.6g}" if type(value) is float and 0 < value < 1 else "0.95"
        elif other in ("mu", "gdp") and type(value) in (int, float):  # Gaussian noise of mu, exactly
            text = f"{value**2 / 2:.6g}"
        elif right == "bounds" and not isinstance(value, tuple | list | Mapping):
            ends = [given[end] for end in unknown if OTHER_NAMES.get(end) == right]
            plain = len(ends) == 2 and all(type(end) in (int, float) for end in ends)
            text = f"({', '.join(map(repr, sorted(ends)))})" if plain else "(lower, upper)"
        elif right == "keys" and not listed(value):
            text = EXAMPLES[right]
        if text:
            needs |= {other: "", right: text}
        elif right not in renamed.values():
            renamed[other] = right
            if other.startswith("l2") and "norm" in names and "norm" not in given:
                needs["norm"] = "2"
    return renamed, needs


def _pivot_table(call: Refused) -> str:
    """The table of a column by two others, with the arguments of one that counts rows, and what it lacks."""
    names = ("values", "index", "columns")
    rest = {name: value for name, value in call.given.items() if name != "values"}
    lacks = call.asked._lacks((*names, "keys", "bins", "bounds"), call.values) if hasattr(call.asked, "_lacks") else {}
    typed = call.written and call.written.pivoted().with_arguments(names, rest, lacks)
    return typed or call.before + Call("pivot_table", (call.given["values"], *call.args), rest).needing(names, lacks)


def _instead(call: Refused, unknown: str) -> str:
    """What a call takes instead of an argument that it does not know."""
    name, names, given, asked = call.name, call.names, call.given, call.asked
    right = OTHER_NAMES.get(unknown, unknown)
    if name == "compose" and unknown == "rho":
        return "no rho=, which is Gaussian noise among the losses: compose([pandas_dp.accounting.Gaussian(0.1)], delta=1e-6)"
    if name == "extend" and closest(unknown, names, 0.7) != "reason":
        term = "delta" if right.startswith("delta") else "epsilon"
        line, total = asked._raised(term), given[unknown]
        if right == "rho" and type(total) in (int, float) and total > 0:
            more = asked._raised(term, total**2 / 2 if unknown in ("mu", "gdp") else total)
            if not more:
                return f"the new total as to=, not {unknown}=, and it can only be raised: {line}"
            line = more
        known = unknown.removeprefix("to_") == term and type(total) in (int, float)
        if known and getattr(asked.budget, term) < total < (1 if term == "delta" else 10**6):
            line = re.sub("=[^,]+", f"={total}".replace("e-0", "e-"), line, count=1)
        line = line.replace("'...'", safe(given["reason"])) if type(given.get("reason")) is str else line
        return f"the new total as {'to_delta' if term == 'delta' else 'to'}=, not {unknown}=: {line}"
    if unknown in ("fresh", "max_groups"):
        typed = f"{unknown}={True if unknown == 'fresh' else 4}"
        return f"no {unknown}=: it goes beside the price: df.dp(epsilon=1, {typed}).{name}(...)"
    if right == "epsilon" and unknown not in ("total", "budget") and hasattr(asked, "_before"):
        return f"no {unknown}=: the price comes first"
    if name in ("df.dp", "preview") and unknown in OF_PRICES:
        return f"no {unknown}=: {OF_PRICES[unknown]}"
    if unknown in OF_PANDAS:
        return f"no {unknown}=: {OF_PANDAS[unknown]}"
    close = did_you_mean(unknown, names)
    takes = f"; it takes {', '.join(f'{other}=' for other in names)}" if names and not close else ""
    return f"no {unknown}={close}{takes}{f': {call.example_line}' if call.example_line else ''}"
