"""One guarded server for the tests that do not end it."""

from collections.abc import Iterator

import pytest

from tests.hooks.support import Guarded, guarded


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with guarded(tmp_path_factory.mktemp("guarded")) as one:
        yield one
