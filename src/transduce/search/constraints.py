"""What a hypothesis may not contain, and what it must begin with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.errors import InputError
from transduce.search.config import DecodingConfig
from transduce.search.limits import Limits
from transduce.text.specials import EOS, RESERVED, UNK


def banned_ids(config: DecodingConfig) -> tuple[int, ...]:
    """Ids that are no text: every special but the end mark, and the unknown word if it is to be avoided."""
    allowed = {EOS} if config.unknown == "avoid" else {EOS, UNK}
    return tuple(i for i in range(RESERVED) if i not in allowed)


class Constraints:
    """Takes tokens out of the running by setting their log-probability to minus infinity.

    What stays keeps the model's own log-probability: nothing is normalised again.
    """

    def __init__(
        self,
        config: DecodingConfig,
        *,
        vocabulary: int,
        banned: Sequence[int],
        prefixes: Sequence[Sequence[int]] | None,
        limits: Limits,
        device: torch.device,
    ) -> None:
        self._min_length, self._ngram = config.min_length, config.no_repeat_ngram
        self._banned = torch.tensor([i for i in banned if i < vocabulary], dtype=torch.int64, device=device)
        # The unknown word may be forced even where search avoids it: the user wrote it.
        no_text = set(banned) - {UNK} | {EOS}
        self._forced = _table(prefixes or (), no_text, vocabulary, limits)

    def apply(
        self,
        log_probs: Float[Tensor, "n v"],
        tokens: Int[np.ndarray, "n t"],
        sentences: Int[np.ndarray, "n"],
    ) -> None:
        """Ban in place what may not follow `tokens`, the rows' hypotheses so far."""
        length = tokens.shape[1]
        device = log_probs.device
        forced = self._forced_now(log_probs, length, sentences) if length < self._forced.shape[1] else None
        end = log_probs[:, EOS].clone() if self._ngram else None
        log_probs.index_fill_(1, self._banned, -torch.inf)
        if length < self._min_length:
            log_probs[:, EOS] = -torch.inf
        if end is not None:
            rows, ids = (torch.from_numpy(a).to(device) for a in repeats(tokens, self._ngram))
            log_probs[rows, ids] = -torch.inf
            # With nothing left to say, a hypothesis may end, even before its minimum length.
            stuck = log_probs.amax(dim=1) == -torch.inf
            log_probs[:, EOS] = torch.where(stuck, end, log_probs[:, EOS])
        if forced is not None:
            rows, wanted, kept = forced
            log_probs[rows] = -torch.inf
            log_probs[rows, wanted] = kept

    def _forced_now(
        self, log_probs: Float[Tensor, "n v"], length: int, sentences: Int[np.ndarray, "n"]
    ) -> tuple[Int[Tensor, "f"], Int[Tensor, "f"], Float[Tensor, "f"]]:
        """Rows inside their forced prefix, the token that each must take, and its log-probability."""
        wanted = self._forced[sentences, length]
        rows = np.flatnonzero(wanted >= 0)
        where = torch.from_numpy(rows).to(log_probs.device)
        ids = torch.from_numpy(wanted[rows]).to(log_probs.device)
        return where, ids, log_probs[where, ids]


def repeats(tokens: Int[np.ndarray, "n t"], size: int) -> tuple[Int[np.ndarray, "found"], Int[np.ndarray, "found"]]:
    """Rows and ids of the next tokens that would complete an n-gram of `size` tokens a second time."""
    length = tokens.shape[1]
    if length < size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    ngrams = np.lib.stride_tricks.sliding_window_view(tokens, size, axis=1)
    # The last size - 1 tokens; for size 1 there are none, and every earlier token is a repetition.
    context = tokens[:, None, length - size + 1 :]
    rows, places = np.nonzero((ngrams[:, :, :-1] == context).all(axis=2))
    return rows, ngrams[rows, places, -1]


def _table(
    prefixes: Sequence[Sequence[int]], no_text: set[int], vocabulary: int, limits: Limits
) -> Int[np.ndarray, "b p"]:
    """Prefixes as a table, -1 where nothing is forced. `InputError` for one that output cannot begin with."""
    table = np.full((len(prefixes), max(map(len, prefixes), default=0)), -1, dtype=np.int64)
    for i, prefix in enumerate(prefixes):
        if len(prefix) > limits.tokens[i]:
            raise InputError(
                f"the forced prefix of sentence {i} has {len(prefix)} tokens, but its output can have at most "
                f"{limits.tokens[i]} (source length + max_extra, within the model's positions). "
                f"Shorten the prefix or raise max_extra"
            )
        for token in prefix:
            if token in no_text or not 0 <= token < vocabulary:
                raise InputError(
                    f"the forced prefix of sentence {i} contains id {token}: expected ids of text "
                    f"in the target vocabulary, without start and end mark"
                )
        table[i, : len(prefix)] = prefix
    return table
