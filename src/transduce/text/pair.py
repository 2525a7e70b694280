"""The tokenizers of both sides of a pair, trained and stored together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Self

from transduce.text import tokenizer_file
from transduce.text.tokenizer import Tokenizer, TokenizerConfig
from transduce.text.vocabulary import Vocabulary


class Tokenizers:
    """The source's and the target's tokenizer: one and the same object where the vocabulary is joint."""

    def __init__(self, config: TokenizerConfig, vocabularies: Mapping[str, Vocabulary]) -> None:
        self.config = config
        self._vocabularies = dict(vocabularies)
        sides = {name: Tokenizer(vocabulary, config) for name, vocabulary in vocabularies.items()}
        self.source = sides["joint" if config.joint else "source"]
        self.target = sides["joint" if config.joint else "target"]

    @classmethod
    def train(cls, config: TokenizerConfig, pairs: Callable[[], Iterable[tuple[str, str]]]) -> Self:
        """Learn from pairs of lines, which are streamed, never held together in memory.

        Args:
            pairs: called for each pass over the training text: once for a joint vocabulary, twice
                (source, then target) for separate ones.

        Raises:
            ConfigError: the text does not support `config.vocabulary` and `if_too_large` is `stop`.
        """
        texts: dict[str, Iterable[str]]
        if config.joint:
            texts = {"joint": (text for pair in pairs() for text in pair)}
        else:
            texts = {
                "source": (source for source, _ in pairs()),
                "target": (target for _, target in pairs()),
            }
        names = {"joint": "training text", "source": "source side", "target": "target side"}
        trained = {name: Tokenizer.train(config, texts[name], side=names[name]) for name in texts}
        return cls(config, {name: tokenizer.vocabulary for name, tokenizer in trained.items()})

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
