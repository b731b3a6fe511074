"""What users have of this package today: names, signatures, texts in their ledgers, plans, pickled answers, a ledger file.

``python -m tests.support.yesterday`` writes down names and texts anew, for a change that is meant. Pickles and the ledger are
kept as a day wrote them: what is on users' disks does not change with the package. For those of another day name it, which
must be new: ``python -m tests.support.yesterday 2026-11-29``.
"""

from __future__ import annotations

import importlib
import inspect
import json
import lzma
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import pandas_dp

from .frames import fresh
from .questions import BY_UNIT, EVERY, FOUND, ROW_BY_ROW, STREAMS, table

FOLDER = Path(__file__).parent.parent / "yesterday"
SURFACE, TEXTS = FOLDER / "surface.json", FOLDER / "texts.json"
MODULES = ("accounting", "audit", "dask", "datasets", "local", "postprocess", "teaching")
QUESTIONS = EVERY | FOUND


def promised(name: str) -> dict[str, Any]:
    """Terms under which a question is answered."""
    terms: dict[str, Any] = {"unit": "uid", "max_rows": 4} if name in BY_UNIT else {}
    return terms | ({"neighbors": "replace_one", "rows": True} if name in ROW_BY_ROW else {})


def price(name: str) -> dict[str, Any]:
    """What a question is asked for."""
    return {"epsilon": 1, "delta": 1e-6} if name in FOUND else {"epsilon": 1}


def answered(name: str) -> tuple[Any, list[list[str]]]:
    """An answer, or what answers, and what the books say."""
    frame = table()
    session = frame.dp.protect(epsilon=10, delta=1e-3, name=fresh(), **promised(name))
    made = QUESTIONS[name](frame.dp(**price(name)))
    told = session.releases[["kind", "query", "price"]].iloc[1:].to_numpy().tolist()
    session.close()
    return made, told


# -------------------------------------------------------------------------------------------------- names and signatures
def spelt(function: Any) -> str:
    """Names, kinds and defaults of parameters; annotations are no part of what users type."""
    try:
        given = inspect.signature(function)
    except ValueError:  # exceptions
        return "(...)"
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in given.parameters.values()]
    return str(given.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def summary(thing: Any) -> str:
    """The first line of help."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def members(name: str, cls: type) -> Iterator[tuple[str, list[str]]]:
    """Public methods and properties of a class that the package defines; those of pandas' are its own."""
    for member, static in inspect.getmembers_static(cls):
        own = getattr(static, "__func__", getattr(static, "fget", static))
        written = str(getattr(inspect.unwrap(own) if callable(own) else own, "__module__", "")).startswith("pandas_dp")
        if member.startswith("_") or not written:
            continue
        thing = getattr(cls, member)
        yield f"{name}.{member}", [spelt(thing) if callable(thing) else "property", summary(thing)]


def users_classes() -> dict[str, type]:
    """Classes whose methods users type, by what they are reached from."""
    frame = table()
    frame.dp.protect(epsilon=10, delta=1e-3, name=fresh())
    unit = table()
    unit.dp.protect(epsilon=10, unit="uid", max_rows=4, name=fresh())
    asking, keys = frame.dp(epsilon=1), ["A", "B", "C"]
    groups = asking.groupby("ward", keys=keys)
    price = frame.dp(epsilon=1, delta=1e-6)
    made = {
        "df.dp": frame.dp,
        "df.dp(epsilon=1)": asking,
        "df.dp(epsilon=1)['age']": asking["age"],
        "df.dp(epsilon=1).groupby()": groups,
        "df.dp(epsilon=1).groupby()['age']": groups["age"],
        "found groups": price.groupby("ward"),
        "session": frame.dp.session,
        "session.left": frame.dp.session.left,
        "number": asking.mean("age", bounds=(0, 100)),
        "series": asking.value_counts("ward", keys=keys),
        "frame": asking.crosstab("ward", "to", keys={"ward": keys, "to": keys}),
        "other": asking.mode("ward", keys=keys),
        "preview": frame.dp.preview(epsilon=1).mean("age", bounds=(0, 100)),
        "stream": unit.dp(epsilon=1).above_threshold(50, max_above=2),
        "oracle": asking.oracle("pmw", domain={"ward": keys}),
        "query": pandas_dp.query(epsilon=1).count(),
    }
    return {name: type(thing) for name, thing in made.items()}


def surface() -> dict[str, list[str]]:
    """Every public name with its signature and the first line of its help."""
    found: dict[str, list[str]] = {}
    spaces = {"pandas_dp": pandas_dp} | {f"pandas_dp.{n}": importlib.import_module(f"pandas_dp.{n}") for n in MODULES}
    for prefix, module in spaces.items():
        for name in getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]:
            thing = getattr(module, name)
            if inspect.ismodule(thing):
                found[f"{prefix}.{name}"] = ["module", summary(thing)]
            elif callable(thing) and str(thing.__module__).startswith("pandas_dp"):
                found[f"{prefix}.{name}"] = [spelt(thing), summary(thing)]
                if inspect.isclass(thing) and not issubclass(thing, Exception):
                    found |= dict(members(f"{prefix}.{name}", thing))
    for name, cls in users_classes().items():
        found |= dict(members(name, cls))
    return found


# ----------------------------------------------------------------------------------------------------------------- texts
def query_of(name: str) -> Any:
    """A question without a frame."""
    return QUESTIONS[name](pandas_dp.query(**price(name)))


def texts() -> dict[str, Any]:
    """What the ledger, the answer and a plan say of every question."""
    found = {}
    for name in QUESTIONS:
        query = query_of(name)
        try:
            plan: Any = query.to_dict()
        except pandas_dp.PandasDPError:  # it holds a function of the user's
            plan = None
        found[name] = {"books": answered(name)[1], "query": str(query), "plan": plan}
    return found


# ----------------------------------------------------------------------------------------------------- pickles, a ledger
def days() -> list[Path]:
    """Folders of what days wrote."""
    return sorted(path for path in FOLDER.iterdir() if path.is_dir())


def said(release: Any) -> dict[str, Any]:
    """What an answer shows."""
    return {"text": repr(release), "json": json.loads(release.to_json())}


def pickled() -> dict[str, tuple[bytes, dict[str, Any]]]:
    """Answers to every question that can be pickled, and what they showed on that day."""
    found = {}
    for name in QUESTIONS.keys() - STREAMS.keys():
        release = answered(name)[0]
        try:
            kept = pickle.dumps(release)
        except (pickle.PicklingError, AttributeError, TypeError):  # it holds a function that is not on disk
            continue
        if len(kept) < 10**5:  # open bounds of floats have half a million
            found[name] = kept, said(release)
    return found


def charge(frame: pd.DataFrame, path: Path) -> Any:
    """Protect a table with a ledger file, in terms that the file of a day has."""
    return frame.dp.protect(epsilon=200, delta=1e-3, ledger=path, name="visits", table="visits", version="1")


def ask_all(frame: pd.DataFrame) -> dict[str, str]:
    """Answers of one table to all questions that are stored, in JSON."""
    stored = [name for name in QUESTIONS if name not in STREAMS and not promised(name)]
    return {name: QUESTIONS[name](frame.dp(**price(name))).to_json() for name in stored}


def write(day: str) -> None:
    """Write pickles and a ledger of a day."""
    folder = FOLDER / day
    folder.mkdir()
    (folder / "releases.pickle.xz").write_bytes(lzma.compress(pickle.dumps(pickled()), preset=9))
    frame = table()
    session = charge(frame, folder / "visits.dpledger")
    told = ask_all(frame)
    session.close()
    session = charge(frame, folder / "visits.dpledger")  # what is found again
    again = {
        name: json.loads(text) for name, text in ask_all(frame).items() if json.loads(text) == json.loads(told[name])
    }
    session.close()
    dump(folder / "visits.json", again)


def dump(path: Path, found: dict[str, Any]) -> None:
    """Write a line for each name."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name], ensure_ascii=False)}" for name in sorted(found))
    path.write_text("{\n" + lines + "\n}\n")


def main(day: str | None = None) -> None:
    """Write names and texts, and what else a day is named for."""
    dump(SURFACE, surface())
    dump(TEXTS, texts())
    if day is not None:
        write(day)


if __name__ == "__main__":
    main(*sys.argv[1:])
