"""The key that capability tokens are signed with."""

from pathlib import Path

import pytest

from beliefd.kernel.errors import BeliefdError
from beliefd.tools.biscuit import Signer


def test_the_key_is_made_once_and_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "capability.key"
    first = Signer(path).public_key
    assert path.stat().st_mode & 0o777 == 0o600
    assert Signer(path).public_key == first
    assert list(tmp_path.iterdir()) == [path]
    path.chmod(0o640)
    with pytest.raises(BeliefdError, match="read by others"):
        _ = Signer(path).public_key


@pytest.mark.parametrize("content", ["", "zz", "00" * 31, "00" * 33, "not hex at all"])
def test_what_is_no_key_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "capability.key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(BeliefdError, match="no signing key"):
        _ = Signer(path).public_key


def test_a_place_that_cannot_hold_a_key_is_told(tmp_path: Path) -> None:
    with pytest.raises(BeliefdError, match="cannot keep a signing key"):
        _ = Signer(tmp_path / "missing" / "capability.key").public_key
