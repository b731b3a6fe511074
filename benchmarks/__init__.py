"""Speed, memory and accuracy of the package, measured; `python -m benchmarks` prints the table of speed and memory."""
