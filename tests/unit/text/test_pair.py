"""Both sides: joint or separate, and the same file from the same text wherever it is trained."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from transduce.errors import ConfigError
from transduce.text.pair import Tokenizers
from transduce.text.specials import RESERVED
from transduce.text.tokenizer import TokenizerConfig

PAIRS = [("añejo 北京 ŝ", "old Beijing s"), ("el vino añejo", "the old wine")] * 3

TRAIN = """
import sys
from pathlib import Path
from transduce.text.lines import read_lines
from transduce.text.pair import Tokenizers
from transduce.text.tokenizer import TokenizerConfig

config = TokenizerConfig(if_too_large="shrink", joint=sys.argv[3] == "joint")
lines = lambda: ((line, line[::-1]) for line in read_lines(sys.argv[1]))
tokenizers = Tokenizers.train(config, lines)
tokenizers.save(sys.argv[2])
tokenizers = Tokenizers.load(sys.argv[2])
tokenizers.save(sys.argv[2])
Path(sys.argv[2] + ".txt").write_bytes(tokenizers.source.export().encode())
"""


def train_elsewhere(text: Path, out: Path, sides: str, **environment: str) -> bytes:
    subprocess.run(
        [sys.executable, "-c", TRAIN, text, out, sides],
        env={**os.environ, **environment},
        check=True,
        timeout=60,
    )
    return out.read_bytes() + Path(f"{out}.txt").read_bytes()


def test_joint_shares_one_tokenizer() -> None:
    tokenizers = Tokenizers.train(TokenizerConfig(if_too_large="shrink"), lambda: PAIRS)
    assert tokenizers.joint
    assert tokenizers.source is tokenizers.target


def test_separate_sides_learn_their_own_text_in_a_pass_each() -> None:
    passes = []

    def pairs() -> Iterator[tuple[str, str]]:
        passes.append(1)
        yield from PAIRS

    config = TokenizerConfig(kind="word", joint=False, if_too_large="shrink")
    tokenizers = Tokenizers.train(config, pairs)
    assert len(passes) == 2
    assert tokenizers.source.unknown("vino wine") == ["wine"]
    assert tokenizers.target.unknown("vino wine") == ["vino"]


def test_the_side_that_is_too_small_is_named() -> None:
    config = TokenizerConfig(kind="word", joint=False, vocabulary=26)
    with pytest.raises(ConfigError, match="target side supports at most 23"):
        Tokenizers.train(config, lambda: [("a b c d e", "x y")])


def test_an_error_while_reading_is_passed_on() -> None:
    def pairs() -> Iterator[tuple[str, str]]:
        yield PAIRS[0]
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        Tokenizers.train(TokenizerConfig(), pairs)


def test_fingerprint_follows_content() -> None:
    def fingerprint(pairs: list[tuple[str, str]], **settings: bool) -> str:
        return Tokenizers.train(
            TokenizerConfig(if_too_large="shrink", **settings),  # type: ignore[arg-type]
            lambda: pairs,
        ).fingerprint

    assert fingerprint(PAIRS) == fingerprint(list(PAIRS))
    assert len(fingerprint(PAIRS)) == 64
    assert len({fingerprint(PAIRS), fingerprint(PAIRS[:3]), fingerprint(PAIRS, nfkc=True)}) == 3


@pytest.mark.parametrize("sides", ["joint", "separate"])
def test_case_20_same_bytes_in_every_process_and_locale(tmp_path: Path, sides: str) -> None:
    text = tmp_path / "text"
    words = ["añejo 北京 ŝ", "el vino añejo", "北京烤鸭", "ŝanĝo ĉiam", "the old wine of Beijing"]
    text.write_bytes("".join(f"{word} {words[i % 3]} {i}\n" for i in range(97) for word in words).encode())
    environments = [
        {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "TOKENIZERS_PARALLELISM": "true"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TOKENIZERS_PARALLELISM": "false"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONHASHSEED": "7"},
    ]
    results = {
        train_elsewhere(text, tmp_path / f"{i}.json", sides, **environment)
        for i, environment in enumerate(environments)
    }
    assert len(results) == 1


def test_a_label_is_a_whole_line_beside_text_of_pieces_and_survives_the_file(tmp_path: Path) -> None:
    config = TokenizerConfig(kind="word", target_kind="line", joint=False, if_too_large="shrink")
    Tokenizers.train(config, lambda: PAIRS).save(tmp_path / "tokenizer.json")
    both = Tokenizers.load(tmp_path / "tokenizer.json")
    assert both.config == config
    assert len(both.target.encode("the old wine")) == 1 and len(both.source.encode("el vino añejo")) == 3
    assert both.target.decode(both.target.encode("the old wine")) == "the old wine"


def test_texts_without_a_translation_are_learned_from_once() -> None:
    # A pair of bytes that occurs once is not merged: counted twice, it would be.
    config = TokenizerConfig(vocabulary=300, if_too_large="shrink")
    once = Tokenizers.train(config, lambda: [("xyzzy",)])
    assert once.source.size == RESERVED + 256 < Tokenizers.train(config, lambda: [("xyzzy", "xyzzy")]).source.size


def test_a_known_tokenizer_of_the_source_is_taken_over() -> None:
    known = Tokenizers.train(TokenizerConfig(kind="word", if_too_large="shrink"), lambda: [("old wine",)])
    labels = TokenizerConfig(kind="word", target_kind="line", joint=False, if_too_large="shrink")
    both = Tokenizers.train(labels, lambda: PAIRS, known=known)
    assert both.source.encode("old wine") == known.source.encode("old wine") and both.source.size == known.source.size
    assert len(both.target.encode("the old wine")) == 1
    joint = Tokenizers.train(known.config, lambda: PAIRS, known=known)
    assert joint.fingerprint == known.fingerprint
    with pytest.raises(ConfigError, match=r"tokenizer.nfkc = True, but the tokenizer that is taken over has False"):
        Tokenizers.train(labels.model_copy(update={"nfkc": True}), lambda: PAIRS, known=known)
