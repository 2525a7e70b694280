"""The models, each one file with its config; their configs form the closed union `ModelConfig`."""

from transduce.models.transformer import TransformerConfig

ModelConfig = TransformerConfig

__all__ = ["ModelConfig", "TransformerConfig"]
