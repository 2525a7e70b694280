"""Runs behind HTTP, on one's own machine: requests share batches, and every limit is on by default."""
