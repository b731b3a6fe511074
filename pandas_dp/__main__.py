"""The command line, ``pandas-dp`` or ``python -m pandas_dp``: a tour, questions about files, and the books of a ledger."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, NoReturn

import pandas as pd

import pandas_dp
from pandas_dp import datasets, dp
from pandas_dp.commands import ledger, query, run, words
from pandas_dp.commands.exits import DONE, ended
from pandas_dp.errors import closest, did_you_mean
from pandas_dp.facts.starting import started
from pandas_dp.queries.texts import read_query

EDUCATION = ["HS-grad", "Some-college", "Bachelors", "Masters", "Doctorate"]
OCCUPATION = ["Adm-clerical", "Craft-repair", "Exec-managerial", "Other-service", "Prof-specialty", "Sales"]


def demo() -> int:
    """Protect a real table, ask five questions, show the books and a refusal."""
    df = datasets.load_adult()
    df.dp.protect(epsilon=3, name="demo", schema={"age": {"bounds": (0, 100)}, "hours_per_week": {"bounds": (0, 100)}})
    print(f"Adult census data, one row per person. {df.dp.session!r}\n")

    bins = list(range(0, 101, 20))
    hours = df.groupby("education")["hours_per_week"]
    listed = df.loc[df["occupation"].isin(OCCUPATION), "occupation"]
    for epsilon, call, exact in (
        (0.2, "count()", len(df)),
        (0.5, f"histogram('age', bins={bins})", pd.cut(df["age"], bins, right=False).value_counts(sort=False)),
        (0.5, "median('age')", df["age"].median()),
        (0.3, f"mode('occupation', keys={OCCUPATION})", listed.mode()[0]),
        (1, f"groupby_mean_sa('education', 'hours_per_week', keys={EDUCATION})", hours.mean()[EDUCATION]),
    ):
        print(f">>> df.dp(epsilon={epsilon}).{call}\n{read_query(call, {'epsilon': epsilon})(df)!r}")
        text = exact.to_string() if isinstance(exact, pd.Series) else str(exact)
        print("    [NON-PRIVATE, for comparison only] " + text.replace("\n", "\n    "), end="\n\n")
    print(f"The books: {df.dp.session!r}\n{df.dp.session.releases!r}\n")
    print(">>> df.dp(epsilon=0.6).mean('age')")
    try:
        dp(df)(epsilon=0.6).mean("age")
    except pandas_dp.BudgetExceededError as refusal:
        print(f"{type(refusal).__name__}: {refusal}")
        return DONE
    sys.exit("the budget should have refused this call")


class Parser(argparse.ArgumentParser):
    """Knows what stands where a command lacks its first words, so that its refusal can name all that it lacks."""

    WORDS: ClassVar = {"query": {"FILE": query.FILE, "QUESTION": "count()"}, "run": {"PLAN": "plan.toml"}}
    MEANT: ClassVar = {
        "--epsilon": "--to",
        "--total": "--to",
        "--delta": "--to-delta",
        "--format": "--out",
        "--pdf": "--out",
        "--month": "--period",
        "--day": "--period",
    }
    NEEDED: ClassVar = {"--name": "visits", "--reason": "..."}
    _typed: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Hand such words to `main`, and on to the command, which asks nothing; anything else is told as ever."""
        known, names = self.WORDS.get(self.prog.split()[-1], {}), message.partition("are required: ")[2].split(", ")
        if lacking := [word for name, word in known.items() if name in names]:
            raise LackingError(lacking)
        choices = [name for action in self._actions for name in action.option_strings]
        if slip := re.search("unrecognized arguments: ([^ =']+)", message):
            message += self._close(slip[1], choices)
        elif slip := re.search("invalid choice: '([^ =']+)", message):
            inner = {name: f"ledger {name}" for name in words.OPTIONS["ledger"] if self.prog == "pandas-dp"}
            values = [name for action in self._actions for name in action.choices or ()]
            message += (
                f"; did you mean {inner[slip[1]]!r}?"
                if slip[1] in inner
                else did_you_mean(slip[1], [*values, *choices])
            )
        elif names != [""]:
            typed = (word.partition("=")[0] for word in self._typed if word.startswith("--"))
            wrong = next((word for word in typed if not any(name.startswith(word) for name in choices)), None)
            if wrong is not None:
                message += f", and there is no {wrong}{self._close(wrong, choices)}"
            elif {*names} <= self.NEEDED.keys():
                more = [word for name in names for word in (name, self.NEEDED[name])]
                message += f": {words.line([*self.prog.split(), *self._typed, *more])}"
        super().error(message)

    def _close(self, typed: str, options: Sequence[str]) -> str:
        """The option that is meant; dashes, which all have, make none look like another."""
        if not typed.startswith("-"):
            return f"; did you mean --data {typed}?" if "--data" in options else ""
        names = {option.strip("-"): option for option in options}
        meant = self.MEANT.get(typed, names.get(closest(typed.strip("-"), names, 0.7)))
        return f"; did you mean {meant!r}?" if meant in options else ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse what is no option here, where those that there are are known, and not in the parser above."""
        self._typed = sys.argv[1:] if args is None else [*args]
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


class LackingError(Exception):
    """What a command line lacks."""


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line."""
    started()
    parser = Parser(prog="pandas-dp", description="Differential privacy as a pandas accessor.")
    parser.add_argument("--version", action="version", version=f"pandas-dp {pandas_dp.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="answer five questions about a bundled census table")
    known = {"query": query, "run": run, "ledger": ledger}
    for command in known.values():
        command.add(commands)
    typed = sys.argv[1:] if arguments is None else arguments
    try:
        options = parser.parse_args(typed, argparse.Namespace(typed=typed, lacking=[]))
    except LackingError as error:
        lacking = error.args[0]
        options = parser.parse_args([*typed, *lacking], argparse.Namespace(typed=typed, lacking=lacking))
    if options.command not in known:
        sys.exit(ended(demo))
    asked = options.command != "ledger" and options.ledger and not options.dry_run
    kept = (
        f"; what was paid for is in the ledger: pandas-dp ledger export {shlex.quote(options.ledger)}" if asked else ""
    )
    sys.exit(
        ended(lambda: known[options.command].run(options), partial(known[options.command].here, options=options), kept)
    )


if __name__ == "__main__":
    main()
