"""NFKC, cut into the parts that it changes."""

from __future__ import annotations

from unicodedata import normalize

from hypothesis import given
from hypothesis import strategies as st

from transduce.text.nfkc import LONGEST_RUN, clusters, nfkc

MIXED = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("e\u0301\u0323\u0334ᄀ\u1161\u11a8각ｶﾞ\u3099か\u0ccf\u0cc6\u0cc2\u0cd5ﬁ①ﷺ\u0344"),
    ),
    max_size=LONGEST_RUN,
)


@given(MIXED)
def test_clusters_join_to_the_text_and_to_its_nfkc(text: str) -> None:
    parts = list(clusters(text))
    assert "".join(before for before, _ in parts) == text
    assert "".join(after for _, after in parts) == normalize("NFKC", text) == nfkc(text)


def test_clusters_are_small() -> None:
    assert list(clusters("xﬁe\u0301y")) == [("x", "x"), ("ﬁ", "fi"), ("e\u0301", "é"), ("y", "y")]
    assert list(clusters("ｶﾞか")) == [("ｶﾞ", "ガ"), ("か", "か")]


def test_clusters_agree_with_nfkc_beyond_the_longest_run() -> None:
    text = "a" + "\u0301\u0323" * (2 * LONGEST_RUN) + "①"
    assert "".join(after for _, after in clusters(text)) == nfkc(text)
    assert normalize("NFKC", nfkc(text)) == normalize("NFKC", text)
