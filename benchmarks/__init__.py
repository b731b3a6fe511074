"""Speed, memory and accuracy of the package, measured; `python -m benchmarks` prints the table of speed and memory."""

import os

# Before numpy is imported: threads of a BLAS that one call woke go on turning for a while, at the expense of the next.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
