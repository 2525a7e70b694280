"""`transduce score`: log-probabilities of given translations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from transduce.commands.loading import load_translator
from transduce.commands.telling import tell
from transduce.data.corpus import CorpusConfig, read_pairs


def run_score(
    source: Path, target: Path, runs: Sequence[Path], *, jsonl: bool, weights: str, device: str, threads: int
) -> None:
    pairs = list(read_pairs(CorpusConfig(source=source, target=target)))
    translator = load_translator(runs, weights, device, threads)
    scored = translator.score([pair.source for pair in pairs], [pair.target for pair in pairs])
    for pair, result in zip(pairs, scored, strict=True):
        tokens = list(zip(result.pieces, result.token_log_probabilities, strict=True))
        if jsonl:
            row = {"line": pair.number, "log_probability": result.log_probability, "tokens": tokens}
            typer.echo(json.dumps(row, ensure_ascii=False))
        else:
            typer.echo(f"{result.log_probability:.4f}\t" + " ".join(f"{piece}:{value:.4f}" for piece, value in tokens))
    if cut := sum(result.cut for result in scored):
        tell(f"{cut} of {len(scored)} targets are longer than this run can write: of these only the beginning counts")
    total = sum(result.log_probability for result in scored)
    count = sum(len(result.token_log_probabilities) for result in scored)
    tell(f"{len(pairs)} pairs, {count} tokens, log-probability {total:.4f} in all, {total / count:.4f} a token")
