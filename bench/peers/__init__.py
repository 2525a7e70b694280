"""One file for each contender. Each is a program of its own, run in an environment that has what it measures."""
