"""Whatever text comes in, as many lines come out, and nothing raises."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.command import InProcess
from tests.support.copy_run import load
from transduce.text.lines import safe
from transduce.translator import Translator

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

FEW = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
QUICK = {"beam": 1, "max_extra": 3}

ANY = st.text(st.characters(), max_size=12)
"""Any code points, lone surrogates too."""
NASTY = st.text(
    st.sampled_from("a \t\r\n\0\x1c\x85\u2028\u2029\u200b\u200d\ufeff\ufffd\ud800\udfff▁Ġ@<s>/水👍🏽é\u0301\U0010ffff"),
    max_size=12,
)


def line_ends(content: bytes) -> list[bool]:
    """For each line feed, whether a carriage return stands before it."""
    return [part.endswith(b"\r") for part in content.split(b"\n")[:-1]]


@pytest.fixture(scope="module")
def translators(copy_run: Path, byte_run: Path) -> list[Translator]:
    return [load(copy_run), load(byte_run)]


@FEW
@given(texts=st.lists(ANY | NASTY, max_size=4))
def test_any_text(translators: list[Translator], texts: list[str]) -> None:
    for translator in translators:
        for unknown in ("avoid", "copy"):
            found = translator.translate(texts, alignment=True, unknown=unknown, **QUICK)
            assert len(found) == len(texts)
            for text, translation in zip(texts, found, strict=True):
                translation.text.encode("utf-8")
                assert line_ends(translation.text.encode()) == line_ends(safe(text).encode())
                for link in translation.alignment:
                    assert 0 <= link.source_start <= link.source_end <= len(text)
                    assert 0 <= link.target_start <= link.target_end <= len(translation.text)


@FEW
@given(pairs=st.lists(st.tuples(ANY | NASTY, ANY | NASTY), max_size=4))
def test_any_pair_has_a_probability(translators: list[Translator], pairs: list[tuple[str, str]]) -> None:
    for translator in translators:
        scored = translator.score([source for source, _ in pairs], [target for _, target in pairs])
        for row in scored:
            assert len(row.pieces) == len(row.token_log_probabilities) >= 1
            assert -1e4 < row.log_probability <= 0
            "".join(row.pieces).encode("utf-8")


NASTY_BYTES = st.lists(
    st.sampled_from(
        [b"red", b" ", b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xe6\xb0", b"\x85"]
    )
).map(b"".join)


@pytest.mark.parametrize("run", ["copy_run", "byte_run"])
def test_any_bytes(request: pytest.FixtureRequest, cli: InProcess, run: str) -> None:
    path = request.getfixturevalue(run)

    @settings(FEW, max_examples=15)
    @given(content=st.binary(max_size=30) | NASTY_BYTES)
    def check(content: bytes) -> None:
        done = cli("translate", "--run", path, "--beam", 1, "--max-extra", 3, stdin=content).succeeded()
        assert line_ends(done.out) == line_ends(content)
        done.out.decode("utf-8")

    check()


@pytest.mark.parametrize("run", ["copy_run", "byte_run"])
def test_all_planes_in_one_file(request: pytest.FixtureRequest, cli: InProcess, run: str) -> None:
    """A line for every 4,001st code point; NUL and carriage return in the middle of lines."""
    lines = [f"red {chr(c)}x" for c in range(0, 0x110000, 4001) if not 0xD800 <= c < 0xE000]
    lines += ["a\0b", "a\rb", "<s> </s> <pad> <unk>", "&apos;" * 7]
    content = "".join(f"{line}\n" for line in lines).encode()
    done = cli("translate", "--run", request.getfixturevalue(run), "--beam", 1, "--max-extra", 3, stdin=content)
    assert len(done.succeeded().lines) == len(lines)
    assert b"\0" not in done.out and b"\r" not in done.out
