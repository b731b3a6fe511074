"""Another thread's warnings, and what a function of one block could leave to the next."""

import sys
import threading
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.support import interpreter
from tests.support.frames import protected


def test_no_warning_of_data_is_told_while_another_thread_changes_the_filters():
    """Filters belong to the process: leaving `catch_warnings` puts those of before back, in the middle of a question."""
    entered, asked, left = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def other():
        with warnings.catch_warnings():
            entered.set()
            assert asked.wait(300)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            left.set()
            assert not thread_done.wait(0.3)
            seen.extend(found)

    def told(block):
        if not (block["x"] == 7.25).any():  # rows that are made up for a trial
            return 1.0
        asked.set()
        assert left.wait(300)
        warnings.warn(f"a cell: {block['x'].max()}", UserWarning, stacklevel=1)
        return float(np.nanmean(block["x"].to_numpy()[:0]))

    thread_done = threading.Event()
    frame = protected(pd.DataFrame({"x": [7.25] * 200}), epsilon=10)
    thread = threading.Thread(target=other)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        thread.start()
        assert entered.wait(300)
        frame.dp(epsilon=1).sample_and_aggregate(told, bounds=(0, 10), blocks=100, aggregator="mean")
        thread.join()
    assert asked.is_set()
    assert not seen


def test_two_threads_that_look_at_data_leave_the_filters_of_others_alone():
    """By saving and restoring them each, one restored what the other had set, for good."""
    frame = protected(pd.DataFrame({"x": [7.25] * 200}), epsilon=10**4)
    inside, left = threading.Event(), threading.Event()

    def waits(block):
        if (block["x"] == 7.25).any():
            inside.set()
            assert left.wait(300)
        return 1.0

    def steps():
        assert inside.wait(300)
        frame.dp.assign(y=lambda d: d.x + 1)  # begins later, and ends sooner or later
        left.set()

    thread = threading.Thread(target=steps)
    thread.start()
    frame.dp(epsilon=1).sample_and_aggregate(waits, bounds=(0, 10), blocks=100, aggregator="mean")
    thread.join()
    with pytest.warns(UserWarning, match="told"):
        warnings.warn("told", UserWarning, stacklevel=1)


def test_a_filter_that_raises_raises_nothing_of_data():
    def warned(block):
        if (block["x"] == 7.25).any():
            warnings.warn("a cell", UserWarning, stacklevel=1)
        return 3.0

    frame = protected(pd.DataFrame({"x": [7.25] * 2000}), epsilon=10**4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = frame.dp(epsilon=10**3).sample_and_aggregate(warned, bounds=(0, 10), blocks=100, aggregator="mean")
        assert abs(found - 3) < 0.1
        with pytest.raises(UserWarning):
            warnings.warn("mine", UserWarning, stacklevel=1)


def test_threads_that_are_not_inside_are_told_as_ever():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.warn("told", UserWarning, stacklevel=1)
    assert [str(one.message) for one in seen] == ["told"]


def test_blocks_share_no_text():
    """Python keeps the UTF-8 form of a text inside it once somebody asked for it, and its size shows that."""
    shared = "".join(["éa"] * 20)
    frame = protected(pd.DataFrame({"c": pd.Series([shared] * 301, dtype=object), "x": [1] + [0] * 300}), epsilon=10**5)
    plain = float(sys.getsizeof("".join(["éa"] * 20)))

    def sized(block):
        if (block["x"] == 1).any():
            pa.array(block["c"].tolist())
        return max((sys.getsizeof(cell) for cell in block["c"]), default=plain)

    ask = frame.dp(epsilon=10**4, fresh=True)
    for _ in range(2):
        found = ask.sample_and_aggregate(sized, bounds=(0, 1000), blocks=100, aggregator="median")
        assert abs(found - plain) < 1
    assert sys.getsizeof(shared) == plain


WAITS = """
import os, signal, threading, time
import pandas as pd
import pandas_dp
signal.signal(signal.SIGINT, signal.default_int_handler)
df = pd.DataFrame({"x": [7.25] * 200})
df.dp.protect(epsilon=10)
inside, asked, priced = threading.Event(), [], df.dp(epsilon=1)

def ask():
    inside.set()
    asked.append(priced.count())

def waits(block):
    if (block["x"] == 7.25).any() and not inside.is_set():  # not on rows that are made up
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    return 1.0

def stop():
    inside.wait()
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=stop).start()
try:
    df.dp(epsilon=2).sample_and_aggregate(waits, bounds=(0, 10), blocks=100, aggregator="mean")
except KeyboardInterrupt as error:
    print(error)
while not asked:
    time.sleep(0.01)
print(df.dp.session.spent)
"""


def test_a_function_that_waits_for_a_question_in_another_thread_is_ended_by_ctrl_c():
    done = interpreter.run(WAITS)
    assert done.stdout == "the query could not be answered; its price stays spent\nepsilon=3\n", done.stderr


TRIED = """
import os, signal, threading, time
import pandas as pd
import pandas_dp
signal.signal(signal.SIGINT, signal.default_int_handler)
df = pd.DataFrame({"x": [7.25] * 200})
df.dp.protect(epsilon=10)
inside, asked, joined, priced = threading.Event(), [], [], df.dp(epsilon=1)

def ask():
    inside.set()
    asked.append(priced.count())

def waits(block):
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    joined.append(thread)
    return 1.0

def stop():
    inside.wait()
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=stop).start()
try:
    df.dp(epsilon=2).sample_and_aggregate(waits, bounds=(0, 10), blocks=100, aggregator="mean")
except KeyboardInterrupt as error:
    print([error])
while not asked:
    time.sleep(0.01)
print(len(joined), df.dp.session.spent)
"""


def test_a_trial_on_made_up_rows_waits_for_such_a_question_before_it_is_charged():
    """It was answered during the trial, and then the query itself waited for the next one, at its price."""
    done = interpreter.run(TRIED)
    assert done.stdout == "[KeyboardInterrupt('')]\n0 epsilon=1\n", done.stderr
