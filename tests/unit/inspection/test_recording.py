"""A recording is the real forward pass: its numbers keep the identities of the equations."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from tests.contracts.variations import VARIATIONS, Variation, having
from tests.unit.inspection.models import COMPUTE, demo, named, translator_of
from transduce.errors import ConfigError, DataError, InputError, TransduceError
from transduce.experiment import Experiment
from transduce.inspection import Recording, predictions, record
from transduce.inspection.norms import head_outputs
from transduce.inspection.payload import payload
from transduce.inspection.recorder import forward_of, inputs
from transduce.inspection.recording import NOTES
from transduce.models import MemoryNetworkConfig
from transduce.text.pair import Tokenizers
from transduce.text.specials import BOS
from transduce.text.tokenizer import TokenizerConfig
from transduce.translator import Translator
from transduce.translator.filling import BLANK, encode_with_blanks, fill

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

SENTENCE, TARGET = "我爱水课，不爱考试。", "I love easy courses"
ATTENDING = having("cross-attention")
TRANSFORMERS = [v for v in VARIATIONS if v.config.kind == "transformer"]
"""Identities of their sub-layers are tested for them; what every model has is tested for every model."""

# Those that the demo's tokenizer serves: answering needs another.
over_all = pytest.mark.parametrize(
    "variation", [v for v in VARIATIONS if v not in having("answerer")], ids=lambda v: v.name
)
over_transformers = pytest.mark.parametrize("variation", TRANSFORMERS, ids=lambda v: v.name)


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * scale)


@cache
def recorded(variation: Variation) -> tuple[Translator, Recording]:
    """A translator and what it records of the two texts: the same for every test."""
    translator = translator_of(variation)
    return translator, record(translator, SENTENCE, target=TARGET)


def module(model: nn.Module, name: str) -> nn.Module:
    return next(m for m in model.modules() if getattr(m, "name", None) == name)


def normalised(norm: nn.Module, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return norm(torch.from_numpy(x)).numpy()


# Every model


@over_all
def test_recorded_logits_are_those_of_an_unrecorded_run(variation: Variation) -> None:
    translator, recording = recorded(variation)
    with torch.inference_mode():
        expected = forward_of(translator.models[0])(inputs(recording.streams))
    assert isinstance(expected, torch.Tensor)
    close(recording.tensors["logits"], expected[0].numpy())
    assert {tensor.dtype for tensor in recording.tensors.values()} == {np.dtype(np.float32)}
    assert all(len(recording.axes[name]) == tensor.ndim for name, tensor in recording.tensors.items())


@over_all
def test_axes_are_as_long_as_the_streams_they_are_named_after(variation: Variation) -> None:
    _, recording = recorded(variation)
    lengths = {name: len(table.tokens) for name, table in recording.streams.items()}
    for name, axes in recording.axes.items():
        for axis, size in zip(axes, recording.tensors[name].shape, strict=True):
            if axis in lengths:
                assert size == lengths[axis], name
    stream = "previous" if "previous" in lengths else "source"
    assert recording.axes["logits"] == (stream, "vocabulary")
    embedding = next(name for name in recording.axes if name.endswith("embedding"))
    assert recording.axes[embedding] == ("source" if "source" in lengths else "previous", "feature")


@over_all
def test_axes_are_known_where_streams_have_one_length(variation: Variation) -> None:
    """Neither does a layer of as many numbers as there are tokens confuse them."""
    translator, long = recorded(variation)
    recording = record(translator, "我爱水课", target="I love easy courses")
    assert len({len(ids) for ids in inputs(recording.streams).values()}) == 1
    assert recording.axes == long.axes


@over_all
def test_probabilities_of_what_is_written_are_the_models(variation: Variation) -> None:
    translator, recording = recorded(variation)
    found = predictions(recording, top=3)
    logits = torch.from_numpy(recording.tensors["logits"]).log_softmax(-1)
    expected = recording.streams["expected"].tokens
    assert [p.writes for p in found] == [token.piece for token in expected]
    chosen = [float(logits[t, token.id]) for t, token in enumerate(expected)]
    assert [p.log_probability for p in found] == pytest.approx(chosen, rel=1e-5, abs=1e-5)
    for p in found:
        assert [g.probability for g in p.best] == sorted((g.probability for g in p.best), reverse=True)
        assert (p.rank == 1) == (p.best[0].piece == p.writes)
    if translator.task.command == "translate":
        (scored,) = translator.score([SENTENCE], [TARGET])
        assert [p.log_probability for p in found] == pytest.approx(scored.token_log_probabilities, rel=1e-5, abs=1e-5)


@over_all
def test_what_is_recorded_by_default_is_what_the_model_writes(variation: Variation) -> None:
    translator, _ = recorded(variation)
    recording = record(translator, SENTENCE)
    searched = recording.capabilities[0] in ("cross-attention", "encoder-decoder", "language-model")
    assert (recording.tree is not None) == searched
    if translator.task.command == "translate":
        (found,) = translator.translate([SENTENCE])
        assert recording.translation == found.text
    else:
        # It goes on with the text, or has no blank to fill.
        assert recording.translation.startswith(SENTENCE)
        assert (recording.translation == SENTENCE) == (recording.tree is None)
    if recording.tree is not None:
        (best,) = recording.tree.results()
        path = recording.tree.path(best.number)
        steps = predictions(recording)[: len(path)]
        assert [c.token for c in path] == recording.streams["expected"].ids()[: len(path)]
        assert [p.log_probability for p in steps] == pytest.approx(
            [c.log_probability for c in path], rel=1e-5, abs=1e-4
        )
        assert best.total == pytest.approx(sum(p.log_probability for p in steps), rel=1e-5, abs=1e-4)
        assert best.score == best.total / best.penalty


@pytest.mark.parametrize("name", ["learned-positions", "gpt", "transformer"])
def test_output_that_was_cut_is_recorded_up_to_its_last_token(name: str) -> None:
    """With learned positions, which end after 31 tokens, there is no room for a step more."""
    translator = translator_of(named(name), max_extra=40)
    recording = record(translator, SENTENCE, beam=2)
    assert recording.tree is not None
    (result,) = recording.tree.results()
    assert result.fate != "finished"
    written, read = (recording.streams[name].ids() for name in ("expected", "previous"))
    assert len(written) == len(read) == len(recording.tensors["logits"]) == (52 if name == "transformer" else 31)
    assert [c.token for c in recording.tree.path(result.number)] == written
    assert read == [BOS, *written[:-1]]


def test_a_text_with_blanks_is_read_with_its_blanks() -> None:
    translator = translator_of(named("bert"))
    text = f"I {BLANK} 水{BLANK}"
    recording = record(translator, text)
    source = recording.streams["source"]
    assert source.ids()[1:-1] == encode_with_blanks(translator.tokenizers.source, text)
    assert [(t.piece, text[t.start : t.end]) for t in source.tokens] == [
        ("<s>", ""), ("I", "I"), ("<mask>", f" {BLANK}"), (" ", " "), ("水", "水"), ("<mask>", BLANK), ("</s>", "")
    ]  # fmt: skip
    (filled,) = fill(translator, [text], top_k=1)
    assert recording.translation == filled.text
    blanks = [p for p in predictions(recording) if p.reads == "<mask>"]
    for p, (choice,) in zip(blanks, filled.blanks, strict=True):
        assert p.writes == choice.token and np.exp(p.log_probability) == pytest.approx(choice.probability, rel=1e-4)


@over_all
def test_saved_and_loaded_it_is_the_same(variation: Variation, tmp_path: Path) -> None:
    _, recording = recorded(variation)
    recording.save(tmp_path / "a.npz")
    again = Recording.load(tmp_path / "a.npz")
    assert again.notes() == recording.notes()
    assert list(again.tensors) == list(recording.tensors)
    for name, tensor in recording.tensors.items():
        np.testing.assert_array_equal(again.tensors[name], tensor)
    again.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert list(tmp_path.glob(".*")) == []


# Attention


@pytest.mark.parametrize("variation", ATTENDING, ids=lambda v: v.name)
def test_rows_of_weights_sum_to_one_and_the_future_weighs_nothing(variation: Variation) -> None:
    _, recording = recorded(variation)
    assert any(place.endswith("cross") for place in recording.places)
    for place in recording.places:
        weights = recording.tensors[f"{place}.weights"]
        axes = recording.axes[f"{place}.weights"]
        np.testing.assert_allclose(weights.sum(-1), 1.0, rtol=0, atol=1e-6)
        assert axes[0] == "head"
        if axes[1:] == ("previous", "previous"):
            assert (weights[:, np.triu(np.ones(weights.shape[1:], bool), 1)] == 0).all()
        else:
            assert axes[2] == "source"
        assert recording.axes[f"{place}.norms"] == axes
        assert recording.tensors[f"{place}.norms"].shape == weights.shape


@over_transformers
def test_heads_and_bias_add_up_to_the_sub_layers_output(variation: Variation) -> None:
    translator, recording = recorded(variation)
    for place in recording.places:
        tensors = {
            part: recording.tensors[f"{place}.{part}"] for part in ("weights", "values", "heads", "output", "norms")
        }
        W_o = module(translator.models[0], place).W_o
        assert isinstance(W_o, nn.Linear)
        outputs = head_outputs(W_o, tensors["heads"])
        close(outputs.sum(0) + W_o.bias.detach().numpy(), tensors["output"])
        # The same from every source place by itself: what the norms are of.
        brought = tensors["weights"][..., None] * head_outputs(W_o, tensors["values"])[:, None]
        close(brought.sum(2), outputs)
        close(np.linalg.norm(brought, axis=-1), tensors["norms"])


@pytest.mark.parametrize("variation", [named("rnn-search"), named("convs2s")], ids=lambda v: v.name)
def test_attention_without_a_matrix_behind_it_brings_its_values(variation: Variation) -> None:
    _, recording = recorded(variation)
    place = recording.places[-1]
    weights, values = recording.tensors[f"{place}.weights"], recording.tensors[f"{place}.values"]
    close(recording.tensors[f"{place}.norms"][0], weights[0] * np.linalg.norm(values, axis=-1))
    close(recording.tensors[f"{place}.context"], weights[0] @ values)


@over_transformers
def test_residual_and_sub_layer_normalised_are_the_next_input(variation: Variation) -> None:
    translator, recording = recorded(variation)
    model, x = translator.models[0], recording.tensors
    norm, residual = variation.config.norm, variation.config.residual  # type: ignore[union-attr]
    for side, parts in (("encoder", ("self", "feed_forward")), ("decoder", ("self", "cross", "feed_forward"))):
        before = x[f"{side}.input"]
        layers = sum(name.startswith(side) and name.count(".") == 2 and name.endswith(".output") for name in x)
        for i in range(layers):
            for part in parts:
                place = f"{side}.{i}.{part}"
                total = before * residual + x[f"{place}.output"]
                close(x[f"{place}.residual.sum"], total)
                before = total
                if norm == "post":
                    before = normalised(module(model, f"{place}.residual").norm, total)  # type: ignore[arg-type]
                    close(x[f"{place}.residual.output"], before)
            close(x[f"{side}.{i}.output"], before)
        if norm == "pre":
            before = normalised(getattr(model, f"{side}_norm"), before)
        close(x[f"{side}.output"], before)
    close(x["decoder.output"] @ model.projection.detach().numpy().T, x["logits"])


# Reading backwards


def test_positions_are_in_the_order_of_the_text_where_the_source_was_read_from_its_end() -> None:
    translator, recording = recorded(named("seq2seq"))
    ids = torch.tensor([recording.streams["source"].ids()])
    expected = translator.models[0].source_embedding(ids)[0].detach().numpy()  # type: ignore[operator]
    close(recording.tensors["encoder.embedding"], expected)
    # Its first word is what it read last.
    context = recording.tensors["encoder.context"]
    close(recording.tensors["encoder.1.hidden"][0], context[1, 0])


def test_a_layer_that_reads_backwards_stands_beside_the_one_that_reads_forwards() -> None:
    recording = recorded(named("rnn-search"))[1].tensors
    ahead, behind = recording["encoder.0.forwards.hidden"], recording["encoder.0.backwards.hidden"]
    close(np.concatenate([ahead, behind], 1), recording["encoder.0.output"])


# A model that was trained


def test_an_answer_is_recorded_with_the_sentences_that_each_hop_read() -> None:
    told = "Lina ran to the mill . Omar went to the pond . where is Lina ?"
    config = MemoryNetworkConfig(hops=2, d_model=13)
    corpora = {"train": [{"builtin": "questions-train"}], "valid": {"builtin": "questions-valid"}}
    experiment = Experiment.model_validate({"model": config.model_dump(), "data": corpora})
    tokenizers = Tokenizers.train(experiment.tokenizer, lambda: [(told, "mill"), (told, "pond")])
    model = config.build(tokenizers.source.size, tokenizers.target.size)
    recording = record(Translator([model], tokenizers, experiment, COMPUTE), told, target="mill")
    for hop in range(2):
        assert recording.tensors[f"hop.{hop}.weights"].shape == (2,)
        assert recording.tensors[f"hop.{hop}.weights"].sum() == pytest.approx(1)
    assert recording.places == () and recording.title == f"{told} → mill"
    kinds = [stage["kind"] for stage in payload(recording)["views"]["walk"]["stages"]]
    assert kinds == ["memory", "probabilities"]
    (answer,) = predictions(recording, top=2)
    assert (answer.reads, answer.writes) == (told, "mill")


def test_the_demo_translates_as_the_article_does() -> None:
    recording = record(demo(), "  我爱水课 ")
    assert (recording.source, recording.translation) == ("我爱水课", "I love easy courses")
    assert [t.piece for t in recording.streams["source"].tokens] == ["我", "爱", "水", "课", "</s>"]
    assert [(p.reads, p.writes) for p in predictions(recording)] == [
        ("<s>", "I"), ("I", " love"), (" love", " easy"), (" easy", " courses"), (" courses", "</s>"),
    ]  # fmt: skip
    assert (
        repr(recording)
        == f"<Recording of '我爱水课 → I love easy courses': transformer, {len(recording.tensors)} tensors>"
    )


def test_a_prefix_is_what_the_search_begins_with() -> None:
    translator = demo()
    prefix = translator.tokenizers.target.encode("You love")
    recording = record(translator, "我爱水课", prefix=prefix)
    assert recording.translation.startswith("You love")
    assert recording.tree is not None
    assert [c.token for c in recording.tree.candidates if c.step == 1] == prefix[:1]


def test_case_31_a_recording_shows_what_nfkc_changed() -> None:
    lines = [("① ﬁ ab", "fi 1")] * 3
    tokenizers = Tokenizers.train(TokenizerConfig(kind="character", nfkc=True, if_too_large="shrink"), lambda: lines)
    variation = named("transformer")
    experiment = translator_of(variation).experiment
    folding = Translator([variation.build(*[tokenizers.source.size] * 2)], tokenizers, experiment, COMPUTE)
    recording = record(folding, "a①ﬁ", target="1")
    assert recording.folded == (("①", "1"), ("ﬁ", "fi"))
    # Both letters of the ligature have its place.
    assert [(t.piece, t.start, t.end) for t in recording.streams["source"].tokens[:-1]] == [
        ("a", 0, 1), ("1", 1, 2), ("f", 2, 3), ("i", 2, 3)
    ]  # fmt: skip
    assert record(demo(), "①", target="1").folded == ()


# What is refused


def test_what_cannot_be_recorded_is_refused() -> None:
    translator = demo()
    for sentence in ("", " \t", "我\n爱"):
        with pytest.raises(InputError, match=r"sentence .*: expected one line of text"):
            record(translator, sentence)
    with pytest.raises(InputError, match="target ' ': expected one line"):
        record(translator, "我", target=" ")
    with pytest.raises(ConfigError, match="`beam` = 0"):
        record(translator, "我", beam=0)
    with pytest.raises(InputError, match=r"text 1 has 1,001 tokens, more than the 1,000"):
        record(translator, "我" * 1001)
    twice = Translator([*translator.models] * 2, translator.tokenizers, translator.experiment, COMPUTE)
    with pytest.raises(InputError, match="takes one run, not an ensemble"):
        record(twice, "我")
    assert record(translator, "left\udc00right").source == "left\ufffdright"


def test_settings_that_draw_at_random_do_not_reach_a_recording() -> None:
    translator = demo()
    settings = translator.experiment.model_dump()
    settings["decoding"] |= {"sample": True, "nbest": 3}
    drawing = Translator(translator.models, translator.tokenizers, Experiment.model_validate(settings), COMPUTE)
    assert record(drawing, "我爱水课").translation == "I love easy courses"


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_files_that_are_no_recording_are_refused(tmp_path: Path) -> None:
    good = tmp_path / "good.npz"
    record(demo(), "我", target="I").save(good)
    with zipfile.ZipFile(good) as file:
        members = {name: file.read(name) for name in file.namelist()}
    pickled = io.BytesIO()
    np.save(pickled, np.array([{"a": 1}], object), allow_pickle=True)
    (tmp_path / "text.npz").write_text("no archive", encoding="utf-8")
    (tmp_path / "cut.npz").write_bytes(good.read_bytes()[:-100])
    wrong = [
        tmp_path / "text.npz",
        tmp_path / "cut.npz",
        archive(tmp_path / "empty.npz"),
        archive(tmp_path / "notes.npz", **members | {NOTES: b'{"format": 1}'}),
        archive(tmp_path / "pickle.npz", **members | {"logits.npy": pickled.getvalue()}),
    ]
    for path in wrong:
        with pytest.raises(DataError, match=f"{path.name}: is no recording"):
            Recording.load(path)
    newer = members[NOTES].replace(b'"format":1', b'"format":2')
    double = io.BytesIO()
    np.save(double, np.zeros((2, 3)), allow_pickle=False)
    others = {
        "newer": {NOTES: newer},
        "more": {"more.npy": members["logits.npy"]},
        "double": {"logits.npy": double.getvalue()},
    }
    for name, content in others.items():
        with pytest.raises(DataError, match="another version of transduce, or is not complete"):
            Recording.load(archive(tmp_path / f"{name}.npz", **members | content))
    with pytest.raises(DataError, match=r"nothing\.npz: cannot be read \(No such file"):
        Recording.load(tmp_path / "nothing.npz")
    with pytest.raises(TransduceError, match=r"a\.npz: could not be written"):
        Recording.load(good).save(tmp_path / "no folder/a.npz")
