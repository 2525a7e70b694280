"""transduce: train, prove, translate and look inside sequence-to-sequence models."""

__version__ = "0.1.0"
