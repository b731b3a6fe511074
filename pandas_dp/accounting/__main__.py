"""``python -m pandas_dp.accounting``: how many equal queries fit into (3, 1e-6), by every theorem."""

from __future__ import annotations

import argparse
from fractions import Fraction

from pandas_dp.accounting.composition import admitted, headline, session_filters


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and what the filter takes after two large queries."""
    about = (
        "How many equal queries fit into (epsilon=3, delta=1e-6), by every theorem. It takes no arguments and no data."
    )
    argparse.ArgumentParser(prog="python -m pandas_dp.accounting", description=about).parse_args(arguments)
    table = headline()
    print("Identical queries that fit into (epsilon=3, delta=1e-6), by epsilon of each query.\n")
    print(table.astype(object).where(table.notna(), "-").rename_axis(None).to_string())
    if table.isna().any(axis=None):
        print("- : needs dp-accounting: pip install 'pandas-dp[pld]'")
    print("\nQueries of 0.01 after two of 0.5 (their sum would take 200):")
    for name, rule in session_filters().items():
        print(f"{admitted(rule, Fraction('0.01'), (Fraction('0.5'),) * 2):7,}  {name}")


if __name__ == "__main__":
    main()
