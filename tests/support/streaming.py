"""Whole transcripts of a stream, many times: the gate's own run, without its charge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from support.drawing import Remembered
from support.neighbours import protected

from pandas_dp.core import gate


class Streamer:
    """Opens one stream through the public API and asks it the same questions again and again, from the start.

    Parameters
    ----------
    table : DataFrame
    open_stream : callable
        What is asked of ``df.dp(epsilon=...)``.
    conditions : list
    """

    def __init__(
        self,
        table: pd.DataFrame,
        open_stream: Callable[[Any], Any],
        conditions: list[Any],
        epsilon: Any = 1,
        **terms: Any,
    ) -> None:
        stream = open_stream(protected(table, **terms).dp(epsilon=epsilon))
        request = stream._inner._run.request
        view = Remembered(request.view())
        self.request = replace(request, view=lambda: view)
        self.questions = [stream._aggregate.question(stream._condition(c), stream._empty) for c in conditions]
        stream.close()

    def transcript(self) -> list[int]:
        """All noisy integers of one stream, in their order."""
        run = gate._Run(self.request)
        reply = run.resume()
        for question in self.questions:
            if reply.last:
                break
            reply = run.resume(question)
        return [integer for noisy in run.transcript for integer in noisy]

    def transcripts(self, n: int) -> np.ndarray:
        """n of them, filled up where a stream ended, shape (n, longest)."""
        rows = [self.transcript() for _ in range(n)]
        out = np.full((n, 2 * len(self.questions) + 2), -(10**6), dtype=float)
        for row, integers in zip(out, rows, strict=True):
            row[: len(integers)] = integers
        return out
