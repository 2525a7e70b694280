from __future__ import annotations

import os
from dataclasses import dataclass, field

import pytest

from transduce.data import passes
from transduce.data import prepare as prepare_module
from transduce.data.corpus import CorpusConfig
from transduce.data.filters import FilterConfig
from transduce.data.prepare import prepare
from transduce.errors import DataError
from transduce.text.specials import RESERVED, UNK


@dataclass
class Letters:
    """Every letter a token; `?` is unknown. Counts its calls, to see what the cache spares."""

    size: int = RESERVED + 256
    calls: list[int] = field(default_factory=list)

    def encode_batch(self, texts):
        self.calls.append(len(texts))
        return [[UNK if c == "?" else RESERVED + ord(c) for c in text] for text in texts]


@dataclass
class Both:
    source: Letters = field(default_factory=Letters)
    target: Letters = field(default_factory=Letters)
    fingerprint: str = "letters"


@pytest.fixture
def corpus(tmp_path):
    def make(pairs, name="a.tsv"):
        path = tmp_path / name
        path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
        return CorpusConfig(tsv=path)

    return make


def test_from_corpora_to_a_store(corpus, tmp_path):
    corpora = [corpus([("ab", "x"), ("cd", "yz?"), ("", "n")], "a"), corpus([("e", "v")], "b")]
    done = prepare(corpora, FilterConfig(max_dropped=0.5), Both(), tmp_path / "cache")
    assert len(done.store) == 3
    assert done.store.ids("source", 1).tolist() == [RESERVED + ord("c"), RESERVED + ord("d")]
    assert done.store.ids("target", 1).tolist()[-1] == UNK
    assert [(done.store.corpus(i), done.store.line(i)) for i in range(3)] == [(0, 1), (0, 2), (1, 1)]
    assert done.report.corpora[0].unknown == {"source": 0, "target": 1}
    assert done.report.corpora[0].tokens["target"] == {1: 1, 3: 1}


def test_long_passes_are_told(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(passes, "EVERY", 0.0)
    monkeypatch.setattr(passes, "LOOK", 2)
    told = []
    corpora = [corpus([("ab", "x"), ("cd", "yz"), ("e", "n")], "a"), corpus([("e", "v")], "b")]
    prepare(corpora, FilterConfig(), Both(), tmp_path / "cache", tell=told.append)
    assert [line.split(" pairs  ")[0] for line in told] == [
        "checksum of the text: 2 of 4",
        "checksum of the text: 4 of 4",
        "encoding the text: 2 of 4",
        "encoding the text: 4 of 4",
    ]
    told.clear()
    prepare(corpora, FilterConfig(), Both(), tmp_path / "cache", tell=told.append)
    assert told == [], "it is found encoded"


def test_case_29_forty_of_a_hundred_too_long(corpus, tmp_path):
    pairs = [(f"{i:05d}" + ("+" if i % 5 < 2 else ""), "t") for i in range(100)]
    corpora = [corpus(pairs)]
    config = FilterConfig(max_length=5, max_dropped=0.4)
    done = prepare(corpora, config, Both(), tmp_path / "cache")
    assert "read 100, kept 60, dropped 40 (too long: 40)" in done.report.render()
    assert len(done.store) == 60
    assert done.report.corpora[0].dropped["too long"].lines == [1, 2, 6, 7, 11]
    with pytest.raises(DataError, match="no pair is left"):
        prepare(corpora, config.model_copy(update={"max_length": 4}), Both(), tmp_path / "cache")


def test_case_25_three_of_ten_too_long_stop_unless_allowed(corpus, tmp_path):
    corpora = [corpus([("a" * (9 if i in (1, 4, 7) else 3 + i % 2), f"{i}") for i in range(10)])]
    config = FilterConfig(max_length=8)
    with pytest.raises(DataError, match=r"3 of 10 pairs .*\(30%\)"):
        prepare(corpora, config, Both(), tmp_path / "cache")
    tolerant = prepare(corpora, config, Both(), tmp_path / "cache", enforce=False)
    allowed = prepare(corpora, config.model_copy(update={"max_dropped": 0.3}), Both(), tmp_path / "cache")
    assert tolerant.report.render() == allowed.report.render()
    assert "3 pairs dropped: too long, lines 2, 5, 8" in allowed.report.render()


def test_duplicates_are_no_loss(corpus, tmp_path):
    done = prepare([corpus([("a", "b")] * 10)], FilterConfig(), Both(), tmp_path / "cache")
    assert (done.report.read, done.report.kept, done.report.dropped) == (10, 1, {"duplicate": 9})


def test_case_86_borders_through_to_the_store(corpus, tmp_path):
    pairs = [("a" * n, "b" * m) for n, m in ((4, 5), (5, 5), (6, 5), (5, 6), (5, 4))]
    done = prepare([corpus(pairs)], FilterConfig(max_length=5, max_dropped=1), Both(), tmp_path / "cache")
    assert [done.store.line(i) for i in range(len(done.store))] == [1, 2, 5]


def test_the_cache_answers_for_the_same_content_only(corpus, tmp_path):
    pairs = [("ab", "x"), ("cd", "?"), ("", "n")]
    config, tokenizers = FilterConfig(max_dropped=0.5), Both()

    def encoded(*, pairs=pairs, name="a.tsv", config=config, tokenizers=tokenizers, held_out=()):
        before = len(tokenizers.source.calls)
        done = prepare(
            [corpus(pairs, name)], config, tokenizers, tmp_path / "cache", held_out=held_out, languages=("zh", "en")
        )
        return len(tokenizers.source.calls) - before, done

    calls, first = encoded()
    assert calls == 1
    calls, again = encoded(name="renamed.tsv")
    assert calls == 0
    assert again.report.render() == first.report.render().replace("a.tsv", "renamed.tsv")
    assert again.checksum == first.checksum
    assert encoded(config=FilterConfig(max_dropped=0.6, invalid_utf8="drop"))[0] == 0
    assert encoded(config=FilterConfig(max_dropped=0.5, max_length=7))[0] == 1
    assert encoded(pairs=[*pairs, ("e", "f")])[0] == 1
    assert encoded(tokenizers=Both(fingerprint="other"))[0] == 1
    assert encoded(held_out=[corpus([("cd", "?")], "test.tsv")], config=FilterConfig(max_dropped=0.7))[0] == 1
    for damaged in ("report.json", "source.ids.bin"):
        (first.store.folder / damaged).write_bytes(b"")
        assert encoded()[0] == 1


def test_case_26_no_pair_is_in_both_training_and_test(corpus, tmp_path):
    train = [corpus([("a", "b"), ("c", "d"), ("e", "f")], "train")]
    test = [corpus([("c", "d"), ("c", "x")], "test")]
    done = prepare(train, FilterConfig(max_dropped=0.5), Both(), tmp_path / "cache", held_out=test)
    assert [done.store.line(i) for i in range(len(done.store))] == [1, 3]
    assert "1 pair dropped: also in the held-out text, line 2" in done.report.render()


def test_encoding_goes_by_chunks(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare_module, "CHUNK", 7)
    tokenizers = Both()
    done = prepare([corpus([(f"{i:03d}", "x") for i in range(23)])], FilterConfig(), tokenizers, tmp_path / "cache")
    assert tokenizers.target.calls == [7, 7, 7, 2]
    assert [done.store.line(i) for i in range(23)] == list(range(1, 24))


def test_builtin_corpora_and_languages(tmp_path):
    builtins = {"demo-train": lambda: [("我", "me"), ("你", "you")]}
    tokenizers = Both(source=Letters(size=70_000))
    done = prepare(
        [CorpusConfig(builtin="demo-train")],
        FilterConfig(),
        tokenizers,
        tmp_path / "cache",
        builtins=builtins,
        languages=("en", "zh"),
    )
    assert done.store.ids("source", 1).tolist() == [RESERVED + ord("你")]
    assert "look swapped" in done.report.render()


@pytest.fixture
def unread(monkeypatch):
    """How often the text is read for its checksum."""
    calls = []
    original = prepare_module.checksum

    def counted(corpora, **options):
        calls.extend(corpora)
        return original(corpora, **options)

    monkeypatch.setattr(prepare_module, "checksum", counted)
    return calls


def test_text_in_the_cache_is_not_read_again(corpus, tmp_path, unread):
    corpora, cache = [corpus([("ab", "x"), ("cd", "y")])], tmp_path / "cache"
    first = prepare(corpora, FilterConfig(), Both(), cache)
    assert unread == corpora
    moved = corpora[0].tsv.rename(tmp_path / "b.tsv")
    # Another place and another weight are nothing that the text depends on; another column is.
    again = prepare([CorpusConfig(tsv=moved, weight=0.5)], FilterConfig(max_dropped=0.9), Both(), cache)
    assert unread == corpora
    assert (again.checksum, again.store.key) == (first.checksum, first.store.key)
    swapped = CorpusConfig(tsv=moved, source_column=2, target_column=1)
    assert prepare([swapped], FilterConfig(), Both(), cache).checksum != first.checksum
    assert unread == [*corpora, swapped]


def test_changed_text_is_noticed_though_its_file_looks_the_same(corpus, tmp_path, unread):
    corpora, cache = [corpus([("ab", "x"), ("cd", "y")])], tmp_path / "cache"
    first = prepare(corpora, FilterConfig(), Both(), cache)
    stat = corpora[0].tsv.stat()
    corpora[0].tsv.write_bytes(corpora[0].tsv.read_bytes().replace(b"cd", b"ce"))
    os.utime(corpora[0].tsv, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    changed = prepare(corpora, FilterConfig(), Both(), cache)
    assert changed.checksum != first.checksum
    assert changed.store.ids("source", 1).tolist()[-1] == RESERVED + ord("e")


def test_a_note_of_the_checksum_that_is_damaged_is_not_believed(corpus, tmp_path, unread):
    corpora, cache = [corpus([("ab", "x"), ("cd", "y")])], tmp_path / "cache"
    first = prepare(corpora, FilterConfig(), Both(), cache)
    note = first.store.folder / "files.txt"
    files, data, both = note.read_text(encoding="utf-8").split()
    for damaged in ("", f"{files} {data[::-1]} {both}", f"{files} {data}", "é" * 7):
        note.write_bytes(damaged.encode("latin-1"))
        unread.clear()
        assert prepare(corpora, FilterConfig(), Both(), cache).checksum == first.checksum
        assert unread == corpora


def test_text_that_may_not_be_dropped_is_refused_though_the_cache_has_the_rest(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"a\tb\n\xff\tc\nd\te\n")
    corpora = [CorpusConfig(tsv=path)]
    prepare(corpora, FilterConfig(invalid_utf8="drop", max_dropped=0.5), Both(), tmp_path / "cache")
    with pytest.raises(DataError, match="not UTF-8"):
        prepare(corpora, FilterConfig(max_dropped=0.5), Both(), tmp_path / "cache")


def test_the_store_has_the_streams_of_the_task_and_their_lengths_alone_count(corpus, tmp_path):
    corpora, tokenizers = [corpus([("abcdefg", "xy"), ("a", "xyz"), ("b", "xyzuvw")])], Both()
    config = FilterConfig(max_length=5, max_dropped=0.5)
    done = prepare(corpora, config, tokenizers, tmp_path / "cache", streams=("target",))
    assert done.store.streams == ("target",)
    assert done.store.lengths("target").tolist() == [2, 3]
    assert tokenizers.source.calls == []
    both = prepare(corpora, FilterConfig(max_length=5, max_dropped=0.9), tokenizers, tmp_path / "cache")
    assert both.store.lengths("target").tolist() == [3] and both.store.folder != done.store.folder


def test_a_text_that_is_both_sides_is_told_once(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("ab\ncde\n", encoding="utf-8")
    done = prepare([CorpusConfig(text=path)], FilterConfig(), Both(), tmp_path / "cache", streams=("target",))
    lines = done.report.render().splitlines()
    assert [line for line in lines if "characters" in line] == [
        "  text characters: shortest 2, median 2, 95 % up to 3, longest 3"
    ]
    assert not any("source" in line or "target" in line for line in lines)


def test_labels_are_not_called_shifted(corpus, tmp_path):
    corpora = [corpus([("a" * (1 + i % 7), "xyz"[i % 3] * (1 + i % 5)) for i in range(105)])]
    for comparable in (True, False):
        done = prepare(corpora, FilterConfig(), Both(), tmp_path / "cache", comparable=comparable)
        assert ("shifted" in done.report.render()) == comparable
        assert any(c["suspicions"] for c in done.report.to_json()["corpora"]) == comparable
