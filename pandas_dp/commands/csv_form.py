"""How a CSV file is written: facts of its owner, the same for every cell."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.as_text import letter_by_letter
from pandas_dp.facts.kinds import kind_or_none


@dataclass(frozen=True)
class CsvForm:
    """Separator of cells, sign of decimals, sign between thousands, and encoding."""

    sep: str = ","
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8-sig"

    @classmethod
    def of(cls, options: argparse.Namespace) -> CsvForm:
        """The form that was typed.

        Raises
        ------
        ArgumentValueError
        """
        sep = "\t" if options.sep == "\\t" else options.sep
        for name, sign in {"sep": sep, "decimal": options.decimal, "thousands": options.thousands}.items():
            if name == "thousands" and not sign:
                continue
            if len(sign) != 1:
                raise ArgumentValueError(f"--{name} takes one sign: --{name} ';'")
            if sign in '"\r\n' or (name != "sep" and (sign.isalnum() or sign in "+-")):
                raise ArgumentValueError(f"--{name} cannot be {sign!r}, which has a meaning of its own")
        if options.decimal == options.thousands:
            raise ArgumentValueError("--decimal and --thousands are two signs: --decimal , --thousands .")
        encoding = letter_by_letter(options.encoding)
        if not encoding:
            raise ArgumentValueError(
                "--encoding must be 'utf-8' or one of a byte for each letter: --encoding latin-1, or cp1252"
            )
        return cls(sep, options.decimal, options.thousands, "utf-8-sig" if encoding == "utf-8" else encoding)

    def plain(self, text: pd.DataFrame, empty: pd.DataFrame) -> pd.DataFrame:
        """Cells of columns of numbers as they are written in code; one with a point that means nothing is missing."""
        if self.decimal == "." and not self.thousands:
            return text
        for name, dtype in empty.dtypes.items():
            kind = kind_or_none(dtype)
            if kind is not None and kind.name == "number":
                cells = text[name]
                if self.thousands:
                    cells = cells.str.replace(self.thousands, "", regex=False)
                if self.decimal != ".":
                    cells = cells.mask(cells.str.contains(".", regex=False, na=False))
                    cells = cells.str.replace(self.decimal, ".", regex=False)
                text = text.assign(**{str(name): cells})
        return text


PLAIN = CsvForm()


def add(command: Any) -> None:
    """Add the options to a command that reads a table."""
    signs = command.add_argument_group("CSV files", "how they are written; the same for each line")
    signs.add_argument("--sep", default=",", metavar="SIGN", help="between cells (default: ,); \\t is a tab")
    signs.add_argument("--decimal", default=".", metavar="SIGN", help="of numbers (default: .)")
    signs.add_argument("--thousands", default="", metavar="SIGN", help="between thousands of numbers (default: none)")
    signs.add_argument("--encoding", default="utf-8", metavar="NAME", help="such as latin-1 (default: utf-8)")
