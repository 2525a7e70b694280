"""What a model would be made of is known without making it, and no size is too large to be refused."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
import torch

from tests.contracts.variations import SOURCE_VOCABULARY, VARIATIONS, Variation
from transduce.devices import memory
from transduce.errors import ConfigError
from transduce.models import RnnSearchConfig, Seq2SeqConfig, TransformerConfig
from transduce.models.contract import ModelSettings
from transduce.models.outline import outline
from transduce.training.memory import refuse_enormous

HUGE = 1_000_000


@pytest.mark.parametrize("variation", VARIATIONS, ids=lambda v: v.name)
def test_names_shapes_and_types_are_the_models_and_nothing_is_drawn(variation: Variation) -> None:
    model = variation.config.build(SOURCE_VOCABULARY, SOURCE_VOCABULARY)
    before = torch.get_rng_state()
    found = outline(variation.config, SOURCE_VOCABULARY, SOURCE_VOCABULARY)
    assert torch.equal(torch.get_rng_state(), before)
    assert {n: (p.shape, p.dtype) for n, p in found.items()} == {
        n: (p.shape, p.dtype) for n, p in model.named_parameters()
    }
    assert all(p.is_meta for p in found.values())


def test_nothing_is_imported_that_takes_a_second() -> None:
    """As torch would to fill a tensor that has no values."""
    code = (
        "import sys; from transduce.models import TransformerConfig; from transduce.models.outline import outline\n"
        "before = set(sys.modules); outline(TransformerConfig(), 37, 37); print(len(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < 20


@pytest.mark.parametrize(
    "config",
    [TransformerConfig(encoder_layers=HUGE), Seq2SeqConfig(layers=HUGE), RnnSearchConfig(layers=HUGE)],
    ids=lambda config: config.kind,
)
def test_a_million_layers_are_refused_after_the_first_few(config: ModelSettings) -> None:
    started = time.process_time()
    with pytest.raises(ConfigError, match="asks for more than 300 tensors of weights: lower the number of layers"):
        outline(config, 37, 37, most=300)
    assert time.process_time() - started < 1


def test_a_model_that_no_memory_holds_is_refused_before_it_is_made() -> None:
    config = TransformerConfig(d_model=HUGE, d_ff=HUGE, heads=1)
    with pytest.raises(
        ConfigError, match=r"\[model\] asks for 96,000,193,000,000 parameters, which take 1,430,514 GiB"
    ):
        refuse_enormous(config, (37, 37), torch.device("cpu"))
    refuse_enormous(TransformerConfig(), (37, 37), torch.device("cpu"))
    assert (memory(torch.device("cpu")) or 2**40) > 2**30
    assert memory(torch.device("meta")) is None
