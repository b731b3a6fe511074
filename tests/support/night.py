"""A night of jobs on one folder, started together and killed at any moment; run as a program, it prints what happened.

Each job is a fork of this process that carries out ``pandas-dp run`` on one version of the data. Which version, when and by
which signal is drawn from a seed; what the machine makes of it is not.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
TOGETHER = 3  # jobs at once, at most
SOON, IN_A_QUESTION = 0.4, 0.02  # seconds within which a job is killed
EARLY = 254  # how a job ends that is interrupted before the command began
PLAN = """
[budget]
name = "nights"
epsilon = 100000
[schema.cost]
bounds = [0, 100]
""" + "".join(
    f"[[queries]]\nname = '{name}'\nprice = {{ epsilon = 0.5 }}\nask = '''{ask}'''\n"
    for name, ask in {
        "rows": "count()",
        "dear": "query('cost > 50').count()",
        "total": "sum('cost')",
        "wards": "groupby('ward', keys=['A', 'B']).size()",
        "middle": "median('cost')",
    }.items()
)
QUESTIONS = PLAN.count("[[queries]]")


def rows_of(version: int) -> int:
    """How many rows a version has: so many that no noise makes one of them look like another."""
    return 1000 * version


def main(folder: str, jobs: int, seed: int) -> None:
    """Run the night, and print a line of JSON for each job."""
    import pyarrow.dataset  # noqa: F401 - once for all, as is the next line

    import pandas_dp.questions.frame  # noqa: F401

    choose, alive, begun = random.Random(seed), {}, 0
    while begun < jobs or alive:
        # of every seven the first one waits until all have ended, so that the folder can be looked at
        if begun < jobs and len(alive) < TOGETHER and (not alive or begun % 7):
            begun += 1
            # half of them are killed at any moment, the others in a question or just after it
            asked = choose.choice([0, 0, 0, 0, 0, 1, 2, 3, 4, 5])
            job = {
                "version": 1 + max(0, begun // 5 - choose.randrange(2)),
                "signal": choose.choice([*SIGNALS, SIGNALS[0], None]),
                "asked": asked,
                "wait": choose.uniform(0, IN_A_QUESTION if asked else SOON),
                "begun": time.monotonic(),
                "told": f"{folder}/told {begun}",
                "marks": f"{folder}/marks {begun}",
            }
            alive[_start(folder, job)] = job
        time.sleep(0.001)
        for pid, job in list(alive.items()):
            if job["asked"] and os.path.getsize(job["marks"]) >= job["asked"]:
                job["asked"], job["begun"] = 0, time.monotonic()
            if job["signal"] and not job["asked"] and time.monotonic() > job["begun"] + job["wait"]:
                os.kill(pid, job["signal"])
                job["begun"] = float("inf")  # once
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del alive[pid]
                end = {"code": os.waitstatus_to_exitcode(status), "said": Path(job["told"]).read_text()}
                found = None if alive else published(folder)
                print(json.dumps({key: job[key] for key in ("version", "signal")} | end | {"found": found}))


def _start(folder: str, job: dict[str, Any]) -> int:
    from pandas_dp.__main__ import main
    from pandas_dp.core import gate

    line = ["run", f"{folder}/plan.toml", "--data", f"{folder}/{job['version']}.parquet", "--ledger", f"{folder}/books"]
    line += ["--out", f"{folder}/answers", "--version", f"{job['version']}", "--no-progress"]
    told, marks = (os.open(job[name], os.O_WRONLY | os.O_CREAT) for name in ("told", "marks"))
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # a fork is no moment of a job
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        os.close(told)
        os.close(marks)
        return pid
    code, drawn = 1, gate._drawn

    def marked(*args: Any) -> Any:  # it is charged, and now it is asked
        os.write(marks, b".")
        return drawn(*args)

    try:
        gate._drawn = marked
        os.dup2(told, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        main(line)
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        code = EARLY
    finally:
        os._exit(code)


def published(folder: str) -> dict[str, dict[str, list[object]]]:
    """Of each directory of answers: version, name and value of each, as its files say."""
    found: dict[str, dict[str, list[object]]] = {}
    for place, _, names in os.walk(f"{folder}/answers"):
        found[place] = {}
        for name in names:
            if name.endswith(".json") and name != "index.json":
                told = json.loads(Path(place, name).read_text())
                found[place][name[:-5]] = [told["version"], told["value"]]
            elif name == "index.json":
                found[place]["index"] = [json.loads(Path(place, name).read_text())["version"], None]
    return found


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
