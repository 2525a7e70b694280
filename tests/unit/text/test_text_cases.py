"""Rows of the list of reported cases that concern text and tokenizer alone."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from transduce.text.lines import BOM, iterate_lines, open_binary, read_lines, safe, split_text
from transduce.text.nfkc import nfkc
from transduce.text.pair import Tokenizers
from transduce.text.specials import FIRST_CONTROL, NAMES, RESERVED, UNK
from transduce.text.tokenizer import Tokenizer, TokenizerConfig

TEXTS = [
    "Hello where is my bag, the red one? Press the blue key now",
    "my phone is in the red bag; the blue one is not",
    "我爱水课，东京野家 北京",
    "می‌روم to the shop, x y 10 km",
] * 3


def trained(texts: list[str], **settings: object) -> Tokenizer:
    config = TokenizerConfig(**{"if_too_large": "shrink", **settings})  # type: ignore[arg-type]
    return Tokenizer.train(config, texts)


def names(tokenizer: Tokenizer) -> list[str]:
    """Every learned piece: the 256 single bytes of BPE are its alphabet, not learned."""
    first = RESERVED + (256 if tokenizer.config.kind == "bpe" else 0)
    return [tokenizer.piece_name(id) for id in range(first, tokenizer.size)]


BPE = trained(TEXTS)
WORD = trained(TEXTS, kind="word")


@pytest.mark.parametrize("kind", ["bpe", "character", "word"])
def test_case_16_unicode_separators_in_the_vocabulary(tmp_path: Path, kind: str) -> None:
    texts = ["x\u2028y", "\u00a0z"]
    tokenizers = Tokenizers.train(
        TokenizerConfig(kind=kind, if_too_large="shrink"),  # type: ignore[arg-type]
        lambda: [(text, text) for text in texts],
    )
    tokenizers.save(tmp_path / "tokenizer.json")
    loaded = Tokenizers.load(tmp_path / "tokenizer.json").source
    assert loaded.size == tokenizers.source.size
    for text in texts:
        assert loaded.decode(loaded.encode(text)) == text
    assert len(loaded.export().splitlines()) == loaded.size


@pytest.mark.parametrize("kind", ["bpe", "character", "word"])
def test_case_17_line_endings_leave_no_trace_in_the_vocabulary(tmp_path: Path, kind: str) -> None:
    lf = "".join(f"{text}\n" for text in TEXTS).encode()
    crlf = b"".join(line + (b"\r\n" if i % 2 else b"\n") for i, line in enumerate(lf.split(b"\n")[:-1]))
    exports = []
    for name, data in (("lf", lf), ("crlf", crlf)):
        (tmp_path / name).write_bytes(data)
        tokenizer = trained(list(read_lines(tmp_path / name)), kind=kind)
        assert not [piece for piece in names(tokenizer) if "<U+000D>" in piece or "<U+000A>" in piece]
        assert tokenizer.export().count("\n") == tokenizer.size
        assert "\r" not in tokenizer.export()
        exports.append(tokenizer.export())
    assert exports[0] == exports[1]
    # The endings may also reach the tokenizer itself.
    assert trained([f"{text}\r\n" for text in TEXTS], kind=kind).export() == exports[0]


@pytest.mark.parametrize("kind", ["bpe", "character", "word"])
def test_case_19_byte_order_marks_are_in_no_piece(tmp_path: Path, kind: str) -> None:
    data = "red blue\nred\nbl\ufeffue\n".encode()
    (tmp_path / "bom").write_bytes(BOM + data)
    (tmp_path / "none").write_bytes(data)
    with_bom, without = (trained(list(read_lines(tmp_path / name)), kind=kind) for name in ("bom", "none"))
    assert with_bom.export() == without.export()
    assert not [piece for piece in names(with_bom) if "<U+FEFF>" in piece]
    assert trained(["\ufeff\ufeff"] * 7 + ["ab"] * 2).size == RESERVED + 256 + 1


@pytest.mark.parametrize("kind", ["bpe", "character", "word"])
def test_case_23_nul_is_in_no_piece_and_in_no_output(kind: str) -> None:
    tokenizer = trained(["a\x00b"] * 3, kind=kind)
    assert not [piece for piece in names(tokenizer) if "<U+0000>" in piece]
    assert "\x00" not in tokenizer.decode(tokenizer.encode("a\x00b"))
    assert BPE.decode(BPE.encode("a\x00b")) == "a b"


def test_case_31_compatibility_signs() -> None:
    text = "︰ ① ﬁ ２ ℃ ㎏"
    assert BPE.decode(BPE.encode(text)) == text
    folded = trained(TEXTS, nfkc=True)
    assert not folded.lossless
    assert folded.changed_by_normalisation(text) == [
        ("︰", ".."),
        ("①", "1"),
        ("ﬁ", "fi"),
        ("２", "2"),
        ("℃", "°C"),
        ("㎏", "kg"),
    ]
    assert folded.decode(folded.encode(text)) == folded.normalise(text) == ".. 1 fi 2 °C kg"
    assert BPE.changed_by_normalisation(text) == []


def test_case_32_double_spaces_and_ellipsis() -> None:
    assert BPE.decode(BPE.encode("a  b… c‼")) == "a  b… c‼"


def test_case_34_spaces_at_the_ends() -> None:
    assert BPE.decode(BPE.encode("  x   y  ")) == "  x   y  "


def test_case_35_newline_is_split_off_before_encoding() -> None:
    parts = split_text("top\nbottom")
    ids = [BPE.encode(content) for content, _ in parts]
    assert not any(UNK in row for row in ids)
    joined = "".join(BPE.decode(row) + ending for row, (_, ending) in zip(ids, parts, strict=True))
    assert joined == "top\nbottom"


def test_case_37_zero_width_non_joiner() -> None:
    text = "می\u200cروم"
    assert BPE.decode(BPE.encode(text)) == text


def test_case_38_compatibility_letters() -> None:
    text = "ŉ ŀ ǆ"
    assert BPE.decode(BPE.encode(text)) == text
    folded = trained(TEXTS, nfkc=True)
    assert folded.changed_by_normalisation(text) == [("ŉ", "ʼn"), ("ŀ", "l·"), ("ǆ", "dž")]


@pytest.mark.parametrize("kind", ["bpe", "character", "word", "pieces"])
def test_case_40_typed_specials_are_text(kind: str) -> None:
    text = "red <pad> blue </s> green <s> <unk> <mask> <control 3>"
    tokenizer = trained([text] * 50, kind=kind)
    ids = tokenizer.encode(text)
    assert min(ids) >= RESERVED
    assert tokenizer.decode(ids) == text
    assert [tokenizer.piece_name(id) for id in range(RESERVED)] == list(NAMES)


def test_case_43_unknown_words_show_a_mark() -> None:
    ids = WORD.encode("Press <key>Esc</key> now")
    assert WORD.decode(ids) == "Press ⁇ now"
    assert WORD.decode(ids, show_unknown=True) == "Press <unk> now"


def test_case_46_only_the_rare_character_is_affected() -> None:
    text = "東京𠮷野家"
    assert BPE.decode(BPE.encode(text)) == text
    assert UNK not in BPE.encode(text)
    character = trained(["東京野家"], kind="character")
    assert character.unknown(text) == ["𠮷"]
    assert character.decode(character.encode(text)) == "東京⁇野家"


def test_case_47_bytes_become_characters() -> None:
    for text in ("𠮷", "👩‍👧"):
        assert BPE.decode(BPE.encode(text)) == text
    broken = [RESERVED + byte for byte in (0x61, 0xE5, 0x8C, 0x62)]
    assert BPE.decode(broken) == "a\ufffdb"


@pytest.mark.parametrize("text", ["WHERE IS MY BAG", "where is my bag"])
def test_case_49_capitals(text: str) -> None:
    assert UNK not in BPE.encode(text)
    assert BPE.decode(BPE.encode(text)) == text


@pytest.mark.parametrize("text", ["HEllo", "HellO", "iPhone"])
def test_case_50_mixed_case(text: str) -> None:
    assert UNK not in BPE.encode(text)
    assert BPE.decode(BPE.encode(text)) == text


@pytest.mark.parametrize("text", ["_x _ y_", "▁ a ▁b", "Ġ Ċ", "@@ a@@ b"])
def test_case_52_no_word_mark_is_added_or_lost(text: str) -> None:
    assert BPE.decode(BPE.encode(text)) == text


@pytest.mark.parametrize("kind", ["bpe", "character", "word", "pieces"])
def test_case_53_no_text_produces_a_control_id(kind: str) -> None:
    texts = ["<2de> hello", "<2de>hello", *(f"<control {i}> x" for i in range(16))]
    tokenizer = trained(texts * 3, kind=kind)
    for text in texts:
        assert not set(tokenizer.encode(text)) & set(range(FIRST_CONTROL, RESERVED))
        assert tokenizer.decode([FIRST_CONTROL, *tokenizer.encode(text)]) == text
    # A control id stands alone: the text after it is encoded as it is without one.
    assert tokenizer.decode(range(FIRST_CONTROL, RESERVED)) == ""


@pytest.mark.parametrize("kind", ["bpe", "character", "word"])
def test_case_56_lone_surrogate(kind: str) -> None:
    text = "left\udc00right"
    tokenizer = trained(["left\ufffdright", text], kind=kind)
    assert tokenizer.decode(tokenizer.encode(text)) == "left\ufffdright"
    assert tokenizer.encode_batch([text]) == [tokenizer.encode(text)]
    assert tokenizer.pieces(text)[-1].end == len(text)


GOLDEN = {
    "10\u00a0km": [301, 215, 181, 128, 130],
    "  the red  bag…": [53, 279, 299, 53, 297, 321, 187],
    "我爱水课": [325, 166, 326, 316, 314, 327],
    "می\u200cروم": [291, 320, 321, 161, 319, 339],
    "👍 x": [261, 180, 166, 162, 330],
    "don't HELLO <s>": [121, 132, 131, 60, 137, 53, 93, 90, 97, 97, 100, 53, 81, 136, 83],
}


def test_case_58_golden_ids() -> None:
    """Fails where another version of a dependency, or of this code, would segment differently."""
    tokenizer = trained(TEXTS, vocabulary=340, if_too_large="stop")
    assert {text: tokenizer.encode(text) for text in GOLDEN} == GOLDEN


LENGTH = 100_000
HOSTILE = ["a", ">", "<", "&", " ", "\u0301\u0323"]
MORE_HOSTILE = [*"'1_水", " a", "<b>", "\uac00\u11a8", "ﬁ", "\ufdfa", "\r", "\u200c", "👩‍👧", "@@ "]


def stages(text: str, folder: Path) -> dict[str, Callable[[], object]]:
    path = folder / str(len(text))
    path.write_bytes(text.encode())
    found: dict[str, Callable[[], object]] = {"split": lambda: split_text(text), "safe": lambda: safe(text)}

    def read() -> None:
        with open_binary(path) as stream:
            for _ in iterate_lines(stream):
                pass

    found["read"] = read
    for kind in ("bpe", "character", "word", "pieces"):
        for fold in (False, True):
            tokenizer = trained([*TEXTS, text[:500]], kind=kind, nfkc=fold)
            ids = tokenizer.encode(text)
            key = f"{kind} {fold}"
            found[f"{key} encode"] = lambda t=tokenizer: t.encode(text)
            found[f"{key} pieces"] = lambda t=tokenizer: t.pieces(text)
            found[f"{key} changes"] = lambda t=tokenizer: t.changed_by_normalisation(text)
            found[f"{key} decode"] = lambda t=tokenizer, i=ids: t.decode(i)
            if not (fold and kind == "bpe"):
                found[f"{key} train"] = lambda k=kind, n=fold: trained([text], kind=k, nfkc=n)
    return found


@pytest.mark.parametrize(
    "unit", [*HOSTILE, *(pytest.param(unit, marks=pytest.mark.slow) for unit in MORE_HOSTILE)], ids=ascii
)
def test_case_62_no_stage_is_slow_on_crafted_text(unit: str, tmp_path: Path) -> None:
    # U+FDFA alone becomes 18 characters in NFKC: what counts is the length that is worked on.
    times = LENGTH // len(nfkc(unit))
    short, long = stages(unit * (times // 8), tmp_path), stages(unit * times, tmp_path)
    for name in short:
        first, second = seconds(short[name]), seconds(long[name])
        assert second < 1, name
        # Under 3 times for each of three doublings; below 5 ms the clock and the call weigh too much.
        assert second < 3**3 * max(first, 0.005), (name, first, second)


def seconds(stage: Callable[[], object]) -> float:
    """Processor time; without the garbage collector, whose work depends on all that ran before."""
    gc.disable()
    start = time.process_time()
    stage()
    taken = time.process_time() - start
    gc.enable()
    return taken
