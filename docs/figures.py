"""What pages include and nobody keeps in step by hand: figures and the help texts of the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from pandas_dp.commands import ledger, query, run


def draw(folder: Path) -> None:
    """Write everything into a folder."""
    folder.mkdir(exist_ok=True)
    help_texts(folder)


def help_texts(folder: Path) -> None:
    """One text file for each command, as ``--help`` prints it on a terminal of 100 columns."""
    parser = argparse.ArgumentParser(prog="pandas-dp")
    commands = parser.add_subparsers()
    for command in (query, run, ledger):
        command.add(commands)
    texts = {}
    for name, command in commands.choices.items():
        texts[name] = command
        for action in command._actions:
            if isinstance(action, argparse._SubParsersAction):
                texts |= {f"{name} {part}": inner for part, inner in action.choices.items()}
    for name, command in texts.items():
        command.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=100)
        (folder / f"{name.replace(' ', '_')}.txt").write_text(command.format_help())
