"""The tokenizers of both sides of a pair, trained and stored together."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from transduce.errors import ConfigError
from transduce.text import tokenizer_file
from transduce.text.bpe import ByteBPE
from transduce.text.tokenizer import Tokenizer, TokenizerConfig
from transduce.text.vocabulary import Vocabulary


class Tokenizers:
    """The source's and the target's tokenizer: one and the same object where the vocabulary is joint."""

    def __init__(self, config: TokenizerConfig, vocabularies: Mapping[str, Vocabulary]) -> None:
        self.config = config
        self._vocabularies = dict(vocabularies)
        sides = {name: Tokenizer(vocabulary, config.of(name)) for name, vocabulary in vocabularies.items()}
        self.source = sides["joint" if config.joint else "source"]
        self.target = sides["joint" if config.joint else "target"]

    @classmethod
    def train(
        cls,
        config: TokenizerConfig,
        pairs: Callable[[], Iterable[tuple[str, ...]]],
        *,
        known: Tokenizers | None = None,
        known_target: bool = False,
    ) -> Self:
        """Learn from pairs of lines, which are streamed, never held together in memory.

        Args:
            pairs: called for each pass over the training text: once for a joint vocabulary, twice
                (source, then target) for separate ones. For a joint one they may be single texts.
            known: its source's vocabulary is taken instead of learning one for the source, or for both sides.
            known_target: take its target's as well, where that is apart here too.

        Raises:
            ConfigError: the text does not support `config.vocabulary` and `if_too_large` is `stop`, or
                `known` was learned in another way than `config` asks for.
        """
        texts: dict[str, Iterable[str]]
        if config.joint:
            texts = {"joint": (text for pair in pairs() for text in pair)}
        else:
            texts = {
                "source": (pair[0] for pair in pairs()),
                "target": (pair[1] for pair in pairs()),
            }
        vocabularies = {}
        if known is not None:
            first = "joint" if config.joint else "source"
            _refuse_other_rules(config.of(first), known.source.config)
            vocabularies[first] = known.source.vocabulary
            if known_target and not config.joint and not known.joint:
                _refuse_other_rules(config.of("target"), known.target.config)
                vocabularies["target"] = known.target.vocabulary
        names = {"joint": "training text", "source": "source side", "target": "target side"}
        for name in (name for name in texts if name not in vocabularies):
            vocabularies[name] = Tokenizer.train(config.of(name), texts[name], side=names[name]).vocabulary
        return cls(config, {name: vocabularies[name] for name in texts})

    @staticmethod
    def capacity(config: TokenizerConfig, sample: Sequence[tuple[str, ...]]) -> float:
        """Pairs like those of `sample` that can be learned from in bounded memory: infinitely many unless BPE is."""
        if "bpe" not in (config.kind, config.target_kind):
            return math.inf
        return ByteBPE.capacity(["\n".join(texts) for texts in sample], split_han=config.split_han)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a stored file. Raises RunError where it is missing, damaged or of another version."""
        return cls(*tokenizer_file.read(Path(path)))

    def save(self, path: Path | str) -> None:
        """Store both in one JSON file; equal tokenizers give equal bytes."""
        tokenizer_file.write(Path(path), self.config, self._vocabularies)

    @property
    def joint(self) -> bool:
        return self.config.joint

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hexadecimal) of the content: equal exactly where the stored files are equal."""
        content = tokenizer_file.document(self.config, self._vocabularies)
        canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def _refuse_other_rules(asked: TokenizerConfig, known: TokenizerConfig) -> None:
    for name in ("kind", "vocabulary", "split_han", "nfkc"):
        value, before = getattr(asked, name), getattr(known, name)
        if value != before:
            raise ConfigError(
                f"tokenizer.{name} = {value!r}, but the tokenizer that is taken over has {before!r}: leave it out"
            )
