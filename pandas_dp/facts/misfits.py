"""Arguments that do not fit a call: misspelt, missing or in the wrong place; and the line to type instead."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from pandas_dp.errors import closest, did_you_mean
from pandas_dp.facts.advice import chain_behind, examples
from pandas_dp.facts.as_text import step_that_makes
from pandas_dp.facts.call import QUESTION, Call, meant_for, safe
from pandas_dp.facts.chains import joined
from pandas_dp.facts.kinds import kind_or_none
from pandas_dp.facts.public_only import EXAMPLES, PERIODS, listed
from pandas_dp.facts.written import as_written, pivoted, rewritten

_OTHER_NAMES = {
    "epsilon": "eps budget total privacy_budget",
    "neighbors": "neighbours neighbor neighbour relation adjacency",
    "bounds": "range limits clip clipping lower upper min_value max_value",
    "bins": "edges buckets",
    "keys": "categories values labels groups",
    "unit": "user user_id id privacy_unit unit_column privacy_id person",
    "max_rows": "max_contributions max_contribution contributions contribution_bound cap rows_per_unit max_rows_per_unit",
    "max_groups": "l0 l0_sensitivity max_partitions max_partitions_contributed max_groups_contributed",
    "max_rows_per_group": "linf linf_sensitivity max_contributions_per_partition max_rows_per_partition",
    "k": "n n_clusters clusters",
    "blocks": "n_blocks partitions",
    "within": "error accuracy",
    "confidence": "level",
    "rho": "zcdp mu gdp",
    "sensitivity": "l1 l1_sensitivity l2 l2_sensitivity delta_f global_sensitivity",
}
OTHER_NAMES = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}
RELATIONS = {"bounded": "replace_one", "replace": "replace_one", "substitute": "replace_one", "unbounded": "add_remove"}
LEVELS = ("confidence", "level")  # which are 1 - alpha
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
    "sigma scale std stddev noise_scale noise_multiplier": (
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
PARTS = ("keys", "bins")  # of which the columns say how they are typed


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
        return f"crosstab() counts rows; for means or sums of a column type {_pivot_table(asked, before, args, given)}"
    if name == "value_counts" and "bins" in unknown:
        needs = {other: "" for other in given if other != "bins"} | {QUESTION: "histogram"}
        needs |= {"bounds": "(lower, upper)"} if type(given["bins"]) is int else {}
        return f"value_counts() counts single values; ranges are {line(needs, {})}"
    if name == "merge" and all(isinstance(given.get(side), str) for side in ("left_on", "right_on")):
        typed = joined(as_written(name, args, given), given["left_on"], given["right_on"])
        return f"merge() takes on=, one name for the keys of both: {typed}"
    if unknown:
        renamed, needs = _meant(given, unknown, names)
        if renamed or needs:
            wrong = next(other for other in unknown if other in renamed or other in needs)
            right = renamed.get(wrong) or next(other for other in needs if other in names)
            terms = {*given, *renamed.values()}
            if name == "protect" and "unit" in terms and "max_rows" not in terms:
                needs |= {"max_rows": "10"}
            of_alpha = f", which is 1 - {right}" if wrong == "alpha" else ""
            written = as_written(method.__name__, args, given) if example else None  # with the number that was typed
            typed = (written and rewritten(written, tuple(names), given, needs, renamed)) or line(needs, renamed)
            return f"{name}() takes {right}=, not {wrong}={of_alpha}: {typed}"
        free_names = [other for other in names if other not in given]
        told, close = _instead(asked, name, unknown[0], names, example, given), closest(unknown[0], free_names)
        instead = {"bins": PERIODS} if unknown[0] == "freq" and "bins" in names and "bins" not in given else {}
        if "out" in unknown and "bounds" in names:  # np.mean(...) calls the method with arguments of its own
            instead = {"bounds": "(lower, upper)"}
        bare = not close and not instead and "; it takes " in told
        values = dict(zip(names, args, strict=False)) | {name: value for name, value in given.items() if name in names}
        missing = [one.name for one in known if one.default is one.empty or one.name == "columns"]
        missing = [argument for argument in missing if argument not in values]
        for argument in missing if hasattr(asked, "_lacks") else ():
            instead |= examples(asked, argument, dict(zip(names, known, strict=True)), values | instead)
        if not close:
            instead |= {name: text for name, text in lacks(values | instead).items() if name not in instead}
        typed = line({}, {unknown[0]: close}) if close else line(dict.fromkeys(unknown, "") | instead, {})
        written = as_written(name, args, given) if name == "groupby" else None
        typed += chain_behind(written, asked) if written else ""
        priced = told.endswith(OF_PRICES.get(unknown[0], "-"))
        typed = "" if example or priced or told.startswith("the new total") or name == "dropna" else typed
        without = "; without it" if typed and bare else ""
        by: Any = values.get("by") if "bins" in instead else None
        kind = kind_or_none(asked._empty()[by].dtype) if isinstance(by, str) and by in asked._empty() else None
        if kind is not None and kind.name == "key":  # text, of which dates are read first
            dates = step_that_makes(by, ".str.to_datetime('%Y-%m-%d')")
            typed = typed.replace(".groupby(", f"{dates}.groupby(", 1)
        return f"{name}() takes {told}{without}{f': {typed}' if typed else ''}"
    if len(args) > len(placed) and placed in (["columns"], ["by"]) and all(isinstance(column, str) for column in args):
        pairs = f"{{{', '.join(f'{safe(column)}: (lower, upper)' for column in args)}}}"
        needed = (
            {"bounds": pairs} if "bounds" in names and "bounds" not in given else lacks({placed[0]: [*args]} | given)
        )
        needed = {placed[0]: f"[{', '.join(map(safe, args))}]"} | needed
        return f"{name}() takes columns as one list: {line(needed, dict.fromkeys(range(len(args)), ''))}"
    moved: dict[str | int, str] = {}
    of_levels = (
        placed[-1:] == ["q"] and len(args) == len(placed) + 1 and type(args[-1]) in (int, float) and args[-1] > 1
    )
    ends = (
        args[-2:]
        if (len(args) in (2, len(placed) + 2) or of_levels) and any(one.name == "bounds" for one in free)
        else ()
    )
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
        lacking = lacks(values | {moved[i]: value for i, value in enumerate(args) if moved.get(i)}) if named else {}
        return f"{name}() takes {f'{named} by name' if named else 'nothing more by place'}: {line(lacking, moved)}"
    missing = [
        parameter.name
        for parameter in known[len(args) :]
        if parameter.default is parameter.empty
        and parameter.name not in given
        and parameter.kind is not parameter.VAR_KEYWORD
    ]
    if missing:
        values = dict(zip(names, args, strict=False)) | given
        if name == "extend" and not values:
            return f"extend() needs the new total, and why: {asked._raised('epsilon')}"
        more: dict[str, str] = {}
        for argument in missing:
            if argument not in more:
                more |= examples(asked, argument, dict(zip(names, known, strict=True)), values | more)
        told = " and ".join(filter(None, [", ".join(missing[:-1]), f"{missing[-1]}{MEANING.get(missing[-1], '')}"]))
        more |= lacks(values | {argument: typed for argument, typed in more.items() if argument not in PARTS})
        return f"{name}() needs {told}: {line(more, {})}"
    plain = [parameter.replace(annotation=parameter.empty) for parameter in known]
    shown = example or f"{name}{signature.replace(parameters=plain, return_annotation=signature.empty)}"
    return f"{name}() was given arguments that do not fit: {shown}"


def _meant(
    given: Mapping[str, Any], unknown: list[str], names: list[str]
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


def _pivot_table(asked: Any, before: str, args: tuple[Any, ...], given: dict[str, Any]) -> str:
    """The table of a column by two others, with the arguments of one that counts rows, and what it lacks."""
    names = ("values", "index", "columns")
    rest = {name: value for name, value in given.items() if name != "values"}
    typed_names = dict(zip(names[1:], args, strict=False)) | given
    lacks = asked._lacks((*names, "keys", "bins", "bounds"), typed_names) if hasattr(asked, "_lacks") else {}
    written = as_written("crosstab", args, given)
    typed = written and rewritten(pivoted(written), names, rest, lacks)
    return typed or before + Call("pivot_table", (given["values"], *args), rest).needing(names, lacks)


def _instead(asked: Any, name: str, unknown: str, names: list[str], example: str, given: Mapping[str, Any]) -> str:
    """What a call takes instead of an argument that it does not know."""
    right = OTHER_NAMES.get(unknown, unknown)
    if name == "compose" and unknown == "rho":
        return "no rho=, which is Gaussian noise among the losses: compose([pandas_dp.accounting.Gaussian(0.1)], delta=1e-6)"
    if name == "extend" and closest(unknown, names, 0.7) != "reason":
        term = "delta" if right.startswith("delta") else "epsilon"
        line, total = asked._raised(term), given[unknown]
        known = unknown.removeprefix("to_") == term and type(total) in (int, float)
        if known and getattr(asked.budget, term) < total < (1 if term == "delta" else 10**6):
            line = re.sub("=[^,]+", f"={total}".replace("e-0", "e-"), line, count=1)
        line = line.replace("'...'", safe(given["reason"])) if type(given.get("reason")) is str else line
        return f"the new total as {'to_delta' if term == 'delta' else 'to'}=, not {unknown}=: {line}"
    if unknown in ("fresh", "max_groups"):
        typed = f"{unknown}={True if unknown == 'fresh' else 4}"
        return f"no {unknown}=: it goes beside the price: df.dp(epsilon=1, {typed}).{name}(...)"
    if right == "epsilon" and unknown not in ("total", "budget") and hasattr(asked, "_before") and not example:
        return f"no {unknown}=: the price comes first"
    if name in ("df.dp", "preview") and unknown in OF_PRICES:
        return f"no {unknown}=: {OF_PRICES[unknown]}"
    if unknown in OF_PANDAS:
        return f"no {unknown}=: {OF_PANDAS[unknown]}"
    close = did_you_mean(unknown, names)
    takes = f"; it takes {', '.join(f'{other}=' for other in names)}" if names and not close else ""
    return f"no {unknown}={close}{takes}{f': {example}' if example else ''}"
