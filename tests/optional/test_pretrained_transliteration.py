"""A model that others trained and run: CTranslate2's answers for 200 names, with our layers and our search."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.data.batch import Batch, Stream
from transduce.models.transformer import Transformer, TransformerConfig
from transduce.search import DecodingConfig, Hypothesis, search
from transduce.tasks.translate import Translate
from transduce.text.specials import BOS, EOS, PAD, RESERVED, UNK

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "models" / "ct2-aren-transliteration"

pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.usefixtures("unchecked_shapes"),
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the pretrained model is not beside the checkout"),
]

WORDS = 200
WIDTH, LAYERS = 32, 6


def read_variables(path: Path) -> dict[str, Tensor]:
    """The variables of a CTranslate2 file of version 2."""
    content, at = path.read_bytes(), 0

    def take(form: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from(f"<{form}", content, at)
        at += struct.calcsize(f"<{form}")
        return int(value)

    def name() -> str:
        nonlocal at
        size = take("H")
        at += size
        return content[at - size : at].rstrip(b"\0").decode()

    assert take("I") == 2
    assert name() == "TransformerBase"
    take("I")
    variables = {}
    for _ in range(take("I")):
        key = name()
        shape = [take("I") for _ in range(take("B"))]
        kind = {4: "<f4", 2: "<i2", 1: "i1"}[take("B")]
        count = take("I")
        array = np.frombuffer(content, kind, count, at)
        at += array.nbytes
        variables[key] = torch.from_numpy(array.astype(np.float32).reshape(shape))
    assert at == len(content)
    return variables


class HalfAndHalfPositions(nn.Module):
    """Sinusoids of positions 1, 2, …: all sines, then all cosines, from wavelength 2π to exactly 10000 · 2π."""

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        half = x.shape[2] // 2
        frequencies = torch.exp(-torch.log(torch.tensor(10000.0)) * torch.arange(half) / (half - 1))
        angles = torch.arange(start + 1, start + 1 + x.shape[1])[:, None] * frequencies
        return x + torch.cat([angles.sin(), angles.cos()], dim=1)


class WithOutputBias(Transformer):
    """The projection has a bias here; the paper's, tied to the embeddings, has none."""

    bias: Tensor

    def project(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.projection, self.bias)


class Letters:
    """Ids of a vocabulary file as ours: padding, start, end and unknown at their places, text behind RESERVED."""

    def __init__(self, path: Path) -> None:
        self.pieces = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        assert self.pieces[:3] == ["<blank>", "<s>", "</s>"]
        text = range(RESERVED, RESERVED + len(self.pieces) - 3)
        self.rows = torch.tensor([PAD, BOS, EOS, *text, UNK])
        """Our id of each of their rows; the last is the unknown letter's."""
        self.size = RESERVED + len(text)

    def encode(self, text: str) -> list[int]:
        return [int(self.rows[self.pieces.index(c)]) if c in self.pieces else UNK for c in text]

    def decode(self, ids: tuple[int, ...]) -> str:
        return "".join(self.pieces[i - RESERVED + 3] for i in ids)

    def spread(self, theirs: Tensor, fill: float) -> Tensor:
        """Their rows at our ids, and `fill` in the rows that they lack."""
        return theirs.new_full((self.size, *theirs.shape[1:]), fill).index_copy_(0, self.rows, theirs)


def weights_of_layer(theirs: dict[str, Tensor], side: str, i: int) -> dict[str, Tensor]:
    """One layer's weights under our names: their normalisation stands inside the sub-layer, ours around it."""
    ours = {}

    def copy(name: str, *parts: str) -> None:
        for kind in ("weight", "bias"):
            ours[f"{side}.{i}.{name}.{kind}"] = torch.cat([theirs[f"{side}/layer_{i}/{p}/{kind}"] for p in parts])

    def copy_norm(name: str, part: str) -> None:
        ours[f"{side}.{i}.{name}.norm.weight"] = theirs[f"{side}/layer_{i}/{part}/layer_norm/gamma"]
        ours[f"{side}.{i}.{name}.norm.bias"] = theirs[f"{side}/layer_{i}/{part}/layer_norm/beta"]

    copy("self_attention.W_qkv", "self_attention/linear_0")
    copy("self_attention.W_o", "self_attention/linear_1")
    copy_norm("residual_self", "self_attention")
    if side == "decoder":
        copy("cross_attention.W_qkv", "attention/linear_0", "attention/linear_1")
        copy("cross_attention.W_o", "attention/linear_2")
        copy_norm("residual_cross", "attention")
    copy("feed_forward.W_1", "ffn/linear_0")
    copy("feed_forward.W_2", "ffn/linear_1")
    copy_norm("residual_feed_forward", "ffn")
    return ours


def load(theirs: dict[str, Tensor], source: Letters, target: Letters) -> Transformer:
    config = TransformerConfig(
        encoder_layers=LAYERS, decoder_layers=LAYERS, d_model=WIDTH, d_ff=128, heads=8, dropout=0.0,
        norm="pre", tie="none",
    )  # fmt: skip
    model = WithOutputBias(config, source.size, target.size)
    model.positions = HalfAndHalfPositions()
    ours = {
        "source_embedding.weight": source.spread(theirs["encoder/embeddings/weight"], 0.0),
        "target_embedding.weight": target.spread(theirs["decoder/embeddings/weight"], 0.0),
        "projection": target.spread(theirs["decoder/projection/weight"], 0.0),
    }
    for side in ("encoder", "decoder"):
        ours[f"{side}_norm.weight"] = theirs[f"{side}/layer_norm/gamma"]
        ours[f"{side}_norm.bias"] = theirs[f"{side}/layer_norm/beta"]
        for i in range(LAYERS):
            ours |= weights_of_layer(theirs, side, i)
    model.load_state_dict(ours)
    # Rows that they lack must have no probability, or every other would be too small.
    model.bias = target.spread(theirs["decoder/projection/bias"], -torch.inf)
    return model.eval()


@dataclass(frozen=True)
class Pretrained:
    model: Transformer
    source: Letters
    target: Letters
    reference: list[dict[str, Any]]

    def search(self, places: list[int], **settings: Any) -> list[list[Hypothesis]]:
        """Our hypotheses for some of the reference's words, compared as theirs: by the mean over the tokens."""
        stream = Stream.pad([self.source.encode(self.reference[i]["source"]) for i in places])
        config = DecodingConfig(
            **settings, length_penalty=1.0, length_penalty_form="power", min_length=1, unknown="mark"
        )
        return search(self.model, stream.ids, stream.lengths, config)

    def text(self, hypotheses: list[Hypothesis]) -> list[str]:
        return [self.target.decode(h.ids) for h in hypotheses]


@pytest.fixture(scope="module")
def pretrained() -> Pretrained:
    source, target = (Letters(FOLDER / "float32" / f"{side}_vocabulary.txt") for side in ("source", "target"))
    model = load(read_variables(FOLDER / "float32" / "model.bin"), source, target)
    reference = json.loads((FOLDER / "reference.json").read_text(encoding="utf-8"))["items"]
    assert len(reference) == WORDS
    return Pretrained(model, source, target, reference)


def test_token_log_probabilities(pretrained: Pretrained) -> None:
    targets = [pretrained.target.encode(item["greedy"]) for item in pretrained.reference]
    streams = {
        # Not `Translate.batch`: this model reads its source without an end mark.
        "source": Stream.pad([pretrained.source.encode(item["source"]) for item in pretrained.reference]),
        "previous": Stream.pad([[BOS, *target] for target in targets]),
        "expected": Stream.pad([[*target, EOS] for target in targets]),
    }
    found = Translate().token_log_probabilities(pretrained.model, Batch(streams, tuple(range(WORDS))))
    for values, item in zip(found, pretrained.reference, strict=True):
        assert values == pytest.approx(item["greedy_token_logprobs"], abs=1e-4)


def test_greedy(pretrained: Pretrained) -> None:
    found = pretrained.search(list(range(WORDS)), beam=1)
    assert [pretrained.text(h)[0] for h in found] == [item["greedy"] for item in pretrained.reference]
    for (h,), item in zip(found, pretrained.reference, strict=True):
        assert h.token_log_probabilities == pytest.approx(item["greedy_token_logprobs"], abs=1e-4)


def test_beam_of_four_stopped_at_the_same_step(pretrained: Pretrained, monkeypatch: pytest.MonkeyPatch) -> None:
    # Their search ends with the step at which a fourth hypothesis is complete, ours when nothing better
    # can come; so ours is made to stop at that step, which the longest of their four tells.
    by_length: dict[int, list[int]] = {}
    for i, item in enumerate(pretrained.reference):
        by_length.setdefault(max(map(len, item["beam4"])), []).append(i)
    for length, places in by_length.items():
        monkeypatch.setattr(pretrained.model, "max_positions", length + 1)
        for i, hypotheses in zip(places, pretrained.search(places, beam=4, nbest=4), strict=True):
            item = pretrained.reference[i]
            assert pretrained.text(hypotheses) == item["beam4"]
            shift = first_end(pretrained, item["source"])
            scores = [(h.log_probability - shift) / (len(h.ids) + 1) for h in hypotheses]
            assert scores == pytest.approx(item["beam4_scores"], abs=1e-4)


def first_end(pretrained: Pretrained, word: str) -> float:
    """log(1 − P(end)) at the first step: output must not be empty, and they normalise again without the end mark."""
    ids = torch.tensor([pretrained.source.encode(word)])
    with torch.inference_mode():
        logits = pretrained.model(ids, torch.tensor([len(word)]), torch.tensor([[BOS]]))
        return float(torch.log1p(-logits[0, 0].softmax(-1)[EOS]))


def test_beam_of_four_run_to_its_exact_end_finds_nothing_worse(pretrained: Pretrained) -> None:
    found = pretrained.search(list(range(WORDS)), beam=4)
    better = 0
    for (h,), item in zip(found, pretrained.reference, strict=True):
        if pretrained.text([h]) != item["beam4"][:1]:
            theirs = item["beam4_scores"][0] + first_end(pretrained, item["source"]) / (len(item["beam4"][0]) + 1)
            assert h.score > theirs - 1e-4 and len(h.ids) > max(map(len, item["beam4"]))
            better += 1
    assert better < WORDS / 20
