"""Making a recording: the search for what a model writes, and one pass of the model over what it read and wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import cast

import torch

from transduce.data.batch import Stream
from transduce.errors import InputError
from transduce.inspection.capture import Captured, Forward, Streams, capture
from transduce.inspection.norms import value_norms
from transduce.inspection.parts import parts
from transduce.inspection.recording import FORMAT, Recording
from transduce.inspection.search_tree import Grower, SearchTree
from transduce.inspection.switches import Heads, without
from transduce.inspection.tokens import Span, TokenTable, spans_of_ids, spans_of_text, spans_with_blanks, token_table
from transduce.layers.tap import record as listening
from transduce.models.contract import Model, StepModel
from transduce.search.config import DecodingConfig
from transduce.search.decoding import search
from transduce.search.hypothesis import Hypothesis
from transduce.tasks import Mask
from transduce.text.lines import safe
from transduce.text.specials import BOS, EOS
from transduce.translator import Translator


def record(
    translator: Translator,
    sentence: str,
    *,
    target: str | None = None,
    beam: int | None = None,
    prefix: Sequence[int] = (),
    without_heads: Heads = (),
) -> Recording:
    """Record the real model on one sentence: the search for its translation, and one teacher-forced pass over both.

    Everything is computed in fp32. `target` takes the place of the translation that search finds; `beam` is its
    width, the run's unless given; `prefix` is ids that its output must begin with, for "what if it had written this".
    What heads of `without_heads` bring (place and number, from 0) is 0. Raises InputError for a sentence that
    is no single line of text, an ensemble, or a head that is not there.
    """
    model = only_model(translator)
    text = _line(sentence, "sentence")
    options = {} if beam is None else {"beam": beam}
    config = translator.decoding(**options, sample=False, nbest=1)
    spans_of_source = spans_with_blanks if isinstance(translator.task, Mask) else spans_of_text
    source = spans_of_source(translator.tokenizers.source, text)
    translator.refuse_long([_ids(source)], [0], 0, config)
    # A search that nothing changes is not listened to: the fused way is the faster one.
    with listening(without(without_heads)) if without_heads else nullcontext():
        tree, found = _search(translator, model, _ids(source), config, prefix)
    tokenizer = translator.tokenizers.target
    if target is None:
        translation, written = spans_of_ids(tokenizer, found.ids)
    else:
        translation = _line(target, "target")
        written = spans_of_text(tokenizer, translation)
    # A search that was cut never asked for an end mark, for which there may be no position left.
    cut = target is None and tree is not None and len(found.token_log_probabilities) == len(found.ids)
    tables = {
        name: token_table(translator.tokenizers.source, text, source, row)
        if name == "source"
        else token_table(tokenizer, translation, written, row)
        for name, row in _streams(translator, _ids(source), _ids(written), cut=cut).items()
    }
    return _recording(translator, model, tables, tree, without_heads)


def _recording(
    translator: Translator, model: Model, tables: dict[str, TokenTable], tree: SearchTree | None, heads: Heads
) -> Recording:
    """One pass of the model over the streams, with all that is to be known of it."""
    captured = capture(model, forward_of(model), inputs(tables), without(heads))
    _refuse_unknown(heads, captured)
    norms, beside = value_norms(model, captured.tensors), parts(model, captured)
    experiment, tokenizers = translator.experiment, translator.tokenizers
    text = tables["source"].text if "source" in tables else ""
    return Recording(
        format=FORMAT,
        model=experiment.model.kind,
        capabilities=tuple(sorted(model.capabilities)),
        source_language=experiment.source_language,
        target_language=experiment.target_language,
        streams=tables,
        folded=tuple(tokenizers.source.changed_by_normalisation(text)),
        vocabulary=tuple(tokenizers.target.piece_name(id) for id in range(tokenizers.target.size)),
        axes=captured.axes
        | {name: captured.axes[f"{name.removesuffix('.norms')}.weights"] for name in norms}
        | beside.axes,
        tree=tree,
        tensors=captured.tensors | norms | beside.tensors,
    )


def _refuse_unknown(heads: Heads, captured: Captured) -> None:
    counts = {n.removesuffix(".weights"): len(x) for n, x in captured.tensors.items() if n.endswith(".weights")}
    for place, head in heads:
        if not 0 <= head < counts.get(place, 0):
            known = ", ".join(f"{name} ({count})" for name, count in counts.items())
            raise InputError(f"head {head} of {place}: expected one of the heads (from 0) of {known or 'none'}")


def _ids(spans: Sequence[Span]) -> list[int]:
    return [id for id, _, _ in spans]


def inputs(tables: Mapping[str, TokenTable]) -> dict[str, list[int]]:
    """The ids of the streams that a model reads: all but what it is expected to write."""
    return {name: table.ids() for name, table in tables.items() if name != "expected"}


def forward_of(model: Model) -> Forward:
    """One pass of a model over one row of each stream that it reads."""
    device = next(model.parameters()).device

    def forward(streams: Streams) -> torch.Tensor:
        rows = {name: torch.tensor([list(ids)], device=device) for name, ids in streams.items()}
        arguments = [rows["source"], torch.tensor([len(streams["source"])])] if "source" in rows else []
        return model(*arguments, *([rows["previous"]] if "previous" in rows else []))

    return forward


def only_model(translator: Translator) -> Model:
    """The model of a translator that has a single one."""
    if len(translator.models) > 1:
        raise InputError("looking inside takes one run, not an ensemble: name one")
    return translator.models[0]


def _search(
    translator: Translator, model: Model, source: list[int], config: DecodingConfig, prefix: Sequence[int]
) -> tuple[SearchTree | None, Hypothesis]:
    """What the model writes, and the tree of the search for it where it is one."""
    task, device = translator.task, translator.compute.device
    if not model.capabilities & {"encoder-decoder", "language-model"}:
        (found,) = task.decode(model, [source], config, device=device, prefixes=[prefix] if prefix else None)
        return None, found[0]
    # A language model has no source: it goes on with the text.
    begun = [*source, *prefix] if "language-model" in model.capabilities else prefix
    grower, stream = Grower(), Stream.pad([[*source, EOS]]).to(device)
    step = cast(StepModel, model)
    (found,) = search(step, stream.ids, stream.lengths, config, prefixes=[begun], watch=grower)
    return grower.tree(found, beam=config.beam, length_penalty=config.length_penalty), found[0]


def _streams(translator: Translator, source: list[int], target: list[int], *, cut: bool) -> dict[str, list[int]]:
    """What the model reads and should write, as the task's batches have it; of output that was cut, no end mark."""
    if isinstance(translator.task, Mask):
        # Its batches blank tokens at random; here the text is read as it was given.
        return {"source": [BOS, *source, EOS], "expected": [BOS, *target, EOS]}
    batch = translator.task.batch([source], [target], [0])
    rows = {name: stream.ids[0].tolist() for name, stream in batch.streams.items()}
    return {name: row[:-1] if cut and name != "source" else row for name, row in rows.items()}


def _line(text: str, name: str) -> str:
    line = safe(text).strip()
    if not line or "\n" in line:
        raise InputError(f"{name} {text!r}: expected one line of text")
    return line
