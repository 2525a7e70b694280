"""`transduce vectors`: a vector for each text, line for line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

import numpy as np

from transduce.commands.lines import appearing_whole, asked_lines
from transduce.commands.loading import load_translator
from transduce.errors import ConfigError
from transduce.models.contract import Pooling
from transduce.text.lines import repair
from transduce.translator import vectors


def run_vectors(
    texts: Sequence[str],
    file: Path | None,
    output: Path | None,
    *,
    run: Path,
    pooling: str,
    normalize: bool,
    batch: int,
    weights: str,
    device: str,
    threads: int,
) -> None:
    if pooling not in get_args(Pooling):
        raise ConfigError(f"--pooling {pooling}: expected {' or '.join(get_args(Pooling))}")
    with asked_lines(texts, file, batch) as chunks:
        translator = load_translator([run], weights, device, threads)
        kept = [vectors(translator, [])]  # no rows; tells at once that the model is no encoder
        for lines in chunks:
            contents = [repair(line.content)[0] for line in lines]
            found = vectors(translator, contents, pooling=cast(Pooling, pooling), first=lines[0].number - 1)
            if normalize:
                found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.finfo(np.float32).tiny)
            if output is not None:
                kept.append(found)
            else:
                sys.stdout.write("".join("\t".join(f"{x:.6g}" for x in row) + "\n" for row in found.tolist()))
                sys.stdout.flush()
    if output is not None:
        with appearing_whole(output) as stream:
            np.save(stream, np.concatenate(kept), allow_pickle=False)
