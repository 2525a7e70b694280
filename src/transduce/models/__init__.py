"""The models, each one file with its config; their configs form the union `ModelConfig`, told apart by `kind`."""

from typing import Annotated

from pydantic import Field

from transduce.models.rnn_search import RnnSearchConfig
from transduce.models.seq2seq import Seq2SeqConfig
from transduce.models.transformer import TransformerConfig

ModelConfig = Annotated[TransformerConfig | Seq2SeqConfig | RnnSearchConfig, Field(discriminator="kind")]

__all__ = ["ModelConfig", "RnnSearchConfig", "Seq2SeqConfig", "TransformerConfig"]
