"""Folding a long text in pieces, so that other threads can run meanwhile, folds it as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.scan import spelling

pieces = st.text(st.sampled_from(list("\\\\\\u0041d5cé ßх\n")), max_size=80)


@given(pieces)
def test_pieces_fold_as_the_whole_does(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spelling, "_PIECE", 3)
        in_pieces = spelling.plain(text)
    assert in_pieces == spelling.plain(text)


@given(pieces)
def test_pieces_are_all_of_a_text(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spelling, "_PIECE", 3)
        assert "".join(spelling._pieces(text)) == text
