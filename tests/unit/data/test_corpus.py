from __future__ import annotations

import gzip
import json
import lzma
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.corpus import CorpusConfig, RawPair, checksum, count_pairs, read_pairs
from transduce.errors import ConfigError, DataError

PAIRS = [("我爱水课", "I love easy courses"), ("喝水", "drink water"), ("  a ", "b\u2028c")]


def write(path: Path, content: str | bytes) -> Path:
    content = content.encode() if isinstance(content, str) else content
    if path.suffix in (".gz", ".xz"):
        content = {".gz": gzip.compress, ".xz": lzma.compress}[path.suffix](content)
    path.write_bytes(content)
    return path


def aligned(folder: Path, pairs=PAIRS, suffix: str = "") -> CorpusConfig:
    return CorpusConfig(
        source=write(folder / f"a.zh{suffix}", "".join(f"{s}\n" for s, _ in pairs)),
        target=write(folder / f"a.en{suffix}", "".join(f"{t}\n" for _, t in pairs)),
    )


def texts(corpus: CorpusConfig, **options) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(corpus, **options)]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_every_format_gives_the_same_pairs_and_the_same_checksum(tmp_path, suffix):
    tsv = write(tmp_path / f"a.tsv{suffix}", "".join(f"{t}\tx\t{s}\n" for s, t in PAIRS))
    objects = "".join(json.dumps({"zh": s, "en": t, "id": 7}) + "\r\n" for s, t in PAIRS)
    corpora = [
        aligned(tmp_path, suffix=suffix),
        CorpusConfig(tsv=tsv, source_column=3, target_column=1),
        CorpusConfig(jsonl=write(tmp_path / f"a.jsonl{suffix}", objects), source_field="zh", target_field="en"),
        CorpusConfig(builtin="demo-train"),
    ]
    builtins = {"demo-train": lambda: PAIRS}
    for corpus in corpora:
        assert [*read_pairs(corpus, builtins=builtins)] == [RawPair(s, t, i + 1) for i, (s, t) in enumerate(PAIRS)]
        assert count_pairs([corpus], builtins=builtins) == 3
    assert len({checksum([corpus], builtins=builtins) for corpus in corpora}) == 1
    assert count_pairs(corpora, builtins=builtins) == 12


def test_checksum_sees_every_border(tmp_path):
    def of(*corpora):
        configs = []
        for i, pairs in enumerate(corpora):
            (tmp_path / str(i)).mkdir(exist_ok=True)
            configs.append(aligned(tmp_path / str(i), pairs))
        return checksum(configs)

    same = [("ab", "c"), ("d", "e")]
    assert of(same) == of(same)
    different = [of(same), of([("a", "bc"), ("d", "e")]), of(same[::-1]), of(same[:1], same[1:]), of(same[:1])]
    assert len(set(different)) == 5


def test_case_11_different_line_counts_are_refused_before_the_first_pair(tmp_path):
    corpus = CorpusConfig(source=write(tmp_path / "a.zh", "1\n2\n3\n"), target=write(tmp_path / "a.en", "1\n2\n3\n4"))
    for use in (lambda: next(read_pairs(corpus)), lambda: count_pairs([corpus]), lambda: checksum([corpus])):
        with pytest.raises(DataError, match=r"a\.zh and .*a\.en have different numbers of lines, 3 vs 4"):
            use()


def test_case_13_only_a_line_feed_ends_a_line(tmp_path):
    odd = ["a\u2028b", "c\x85d", "e\x0b\x0c\x1c\u2029f"]
    corpus = aligned(tmp_path, [(text, str(i)) for i, text in enumerate(odd)])
    assert texts(corpus) == [(odd[0], "0"), (odd[1], "1"), (odd[2], "2")]
    assert count_pairs([corpus]) == 3


def test_case_19_a_leading_byte_order_mark_is_no_text(tmp_path):
    plain = CorpusConfig(tsv=write(tmp_path / "plain.tsv", "a\tb\nc\td\n"))
    marked = CorpusConfig(tsv=write(tmp_path / "marked.tsv", b"\xef\xbb\xbfa\tb\nc\td\n"))
    assert texts(marked) == texts(plain) == [("a", "b"), ("c", "d")]
    assert checksum([marked]) == checksum([plain])


@given(st.binary(max_size=40).map(lambda b: b.replace(b"\x00", b"\n").replace(b"\x01", b"\xef\xbb\xbf")))
def test_lines_are_counted_as_they_are_read(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("count") / "a"
    path.write_bytes(content)
    corpus = CorpusConfig(source=path, target=path)
    invalid: list[int] = []
    try:
        count = count_pairs([corpus])
    except DataError:
        assert content in (b"", b"\xef\xbb\xbf")
    else:
        pairs = list(read_pairs(corpus, on_invalid=invalid.append))
        assert len(pairs) + len(invalid) == count
        assert sorted([*invalid, *(pair.number for pair in pairs)]) == list(range(1, count + 1))


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_missing_and_empty_files_are_refused(tmp_path, content):
    empty, full = write(tmp_path / "empty", content), write(tmp_path / "full", "a\n")
    corpora = [
        CorpusConfig(source=empty, target=full),
        CorpusConfig(source=full, target=empty),
        CorpusConfig(tsv=empty),
        CorpusConfig(jsonl=empty),
    ]
    for corpus in corpora:
        with pytest.raises(DataError, match="empty: the file is empty"):
            list(read_pairs(corpus))
    for corpus in (CorpusConfig(tsv=tmp_path / "none"), CorpusConfig(source=full, target=tmp_path / "none")):
        with pytest.raises(DataError, match="none"):
            list(read_pairs(corpus))


def test_a_pipe_is_refused_instead_of_blocking(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="expected a regular file"):
        list(read_pairs(CorpusConfig(tsv=tmp_path / "pipe")))


def test_a_name_that_is_too_long_is_refused(tmp_path):
    corpus = CorpusConfig(tsv=tmp_path / ("x" * 300))
    for read in (checksum, count_pairs):
        with pytest.raises(DataError, match="cannot be opened"):
            read([corpus])


def test_text_that_is_not_utf8_stops_or_is_left_out(tmp_path):
    corpus = CorpusConfig(
        source=write(tmp_path / "s", b"a\nb\xff\nc\nd\n"), target=write(tmp_path / "t", b"1\n2\n3\xfe\n4\n")
    )
    with pytest.raises(DataError) as caught:
        texts(corpus)
    assert (caught.value.path, caught.value.line, caught.value.column) == (tmp_path / "s", 2, 2)
    skipped: list[int] = []
    assert texts(corpus, on_invalid=skipped.append) == [("a", "1"), ("d", "4")]
    assert skipped == [2, 3]
    with pytest.raises(DataError):
        checksum([corpus])
    shorter = CorpusConfig(source=write(tmp_path / "u", "a\nd\n"), target=write(tmp_path / "v", "1\n4\n"))
    assert checksum([corpus], on_invalid=skipped.append) != checksum([shorter])


def test_a_lone_column_names_its_line_and_a_blank_line_is_an_empty_pair(tmp_path):
    corpus = CorpusConfig(tsv=write(tmp_path / "a.tsv", "a\tb\n\nc\n"))
    pairs = read_pairs(corpus)
    assert [next(pairs), next(pairs)] == [RawPair("a", "b", 1), RawPair("", "", 2)]
    with pytest.raises(DataError, match=r"a\.tsv, line 3: expected at least 2 columns.*got 1"):
        next(pairs)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a"', "expected a JSON object: "),
        ("[1]", "expected a JSON object, got list"),
        ('{"source": "a", "en": "b"}', "in field `target`; the fields are source, en"),
        ('{"source": "a", "target": 3}', "in field `target`; it holds 3"),
        ("[" * 100_000, "expected a JSON object: "),
    ],
)
def test_json_of_another_shape_names_its_line(tmp_path, line, message):
    corpus = CorpusConfig(jsonl=write(tmp_path / "a.jsonl", f'{{"source": "a", "target": "b"}}\n{line}\n'))
    with pytest.raises(DataError, match="line 2: ") as caught:
        texts(corpus)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "got nothing"),
        ({"tsv": "a", "builtin": "demo-test"}, "got `tsv` and `builtin`"),
        ({"source": "a"}, "belong together"),
        ({"target": "a", "tsv": "b"}, "belong together"),
        ({"jsonl": "a", "source_column": 2, "target_column": 1}, "belong to `tsv`"),
        ({"tsv": "a", "source_field": "zh"}, "belong to `jsonl`"),
        ({"tsv": "a", "source_column": 2}, "both 2"),
        ({"jsonl": "a", "source_field": "target"}, "both 'target'"),
        ({"tsv": "a", "source_column": 0}, "greater than or equal to 1"),
        ({"tsv": "a", "weight": 0}, "greater than 0"),
        ({"tsv": "a", "weight": "inf"}, "finite"),
        ({"builtin": "demo-none"}, "demo-train"),
    ],
)
def test_settings_that_do_not_go_together(fields, message):
    with pytest.raises(ValueError, match=message):
        CorpusConfig(**fields)


def test_paths_are_resolved_from_a_base():
    base = Path("/data")
    assert CorpusConfig(source="a.zh", target="/b/a.en").resolve(base).name == "/data/a.zh + /b/a.en"
    assert CorpusConfig(tsv="x/a.tsv", weight=3).resolve(base) == CorpusConfig(tsv="/data/x/a.tsv", weight=3)
    assert CorpusConfig(builtin="demo-long").resolve(base).name == "demo-long"


def test_a_builtin_corpus_that_nobody_wired_is_refused():
    with pytest.raises(ConfigError, match="`demo-test` here; known: demo-train"):
        list(read_pairs(CorpusConfig(builtin="demo-test"), builtins={"demo-train": list}))


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_a_text_without_a_translation_is_a_pair_with_itself(tmp_path, suffix):
    plain = CorpusConfig(text=write(tmp_path / f"t{suffix}", "我爱水课\r\n\nb\u2028c"))
    assert [*read_pairs(plain)] == [RawPair(s, s, i) for i, s in enumerate(["我爱水课", "", "b\u2028c"], start=1)]
    assert count_pairs([plain]) == 3 and not plain.has_pairs and plain.name.endswith(f"t{suffix}")
    with pytest.raises(DataError, match="empty"):
        [*read_pairs(CorpusConfig(text=write(tmp_path / "none", "")))]


@pytest.mark.parametrize("only", ["source", "target"])
def test_one_side_of_pairs_is_taken_as_texts(tmp_path, only):
    pairs = aligned(tmp_path)
    one = pairs.model_copy(update={"only": only})
    wanted = [pair[only == "target"] for pair in PAIRS]
    assert texts(one) == [(text, text) for text in wanted]
    assert pairs.has_pairs and not one.has_pairs and one.name.endswith(f"(only the {only})")
    alone = CorpusConfig(text=write(tmp_path / "t", "".join(f"{text}\n" for text in wanted)))
    assert checksum([one]) == checksum([alone]) != checksum([pairs])


def test_a_text_has_no_sides(tmp_path):
    with pytest.raises(ValueError, match="`only` takes one side of pairs; `text` has none"):
        CorpusConfig(text=tmp_path / "t", only="source")
    with pytest.raises(ValueError, match="give exactly one of"):
        CorpusConfig(text=tmp_path / "t", tsv=tmp_path / "t")
