"""The models, each one file with its config; their configs form the union `ModelConfig`, told apart by `kind`."""

from typing import Annotated, get_args

from pydantic import Field

from transduce.models.bert import BertConfig
from transduce.models.bytenet import ByteNetConfig
from transduce.models.contract import ModelSettings
from transduce.models.convs2s import ConvS2SConfig
from transduce.models.feed_forward import FeedForwardConfig
from transduce.models.gpt import GptConfig
from transduce.models.memory_network import MemoryNetworkConfig
from transduce.models.rnn import RnnConfig
from transduce.models.rnn_search import RnnSearchConfig
from transduce.models.seq2seq import Seq2SeqConfig
from transduce.models.transformer import TransformerConfig

ModelConfig = Annotated[
    TransformerConfig
    | Seq2SeqConfig
    | RnnSearchConfig
    | ConvS2SConfig
    | ByteNetConfig
    | FeedForwardConfig
    | RnnConfig
    | MemoryNetworkConfig
    | BertConfig
    | GptConfig,
    Field(discriminator="kind"),
]

DEFAULT = TransformerConfig
"""The settings of an experiment that names no kind."""


def kinds_with(capability: str) -> list[str]:
    """The models that declare a capability, by `kind`."""
    return [settings.kind for settings in _every() if capability in settings.capabilities]


def sized_by_presets(kind: object) -> bool:
    """Whether the sizes of the presets are for the model of this kind, if there is one."""
    return any(settings.kind == kind and settings.takes_preset_sizes for settings in _every())


def _every() -> list[ModelSettings]:
    return [settings() for settings in get_args(get_args(ModelConfig)[0])]


__all__ = [
    "DEFAULT",
    "BertConfig",
    "ByteNetConfig",
    "ConvS2SConfig",
    "FeedForwardConfig",
    "GptConfig",
    "MemoryNetworkConfig",
    "ModelConfig",
    "RnnConfig",
    "RnnSearchConfig",
    "Seq2SeqConfig",
    "TransformerConfig",
    "kinds_with",
    "sized_by_presets",
]
