"""One way in which the random choice of rows can fall, the same for neighbouring tables."""

from __future__ import annotations

import numpy as np


def first_of_each(owner, owners, most, fill=None):
    """Keep the first items of each owner."""
    seen: dict[int, int] = {}
    keep = []
    for i, o in enumerate(owner.tolist()):
        seen[o] = seen.get(o, 0) + 1
        if seen[o] <= most:
            keep.append(i)
    return np.array(keep, dtype=np.intp)
