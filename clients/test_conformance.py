"""The server that stands behind the gateway in the conformance suite passes it by itself."""

import pytest

from clients.harness.conformance import FORMS, REVISIONS, conformant, failures
from clients.harness.process import Place


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_suite_passes_with_nothing_in_between(revision: str, place: Place) -> None:
    with conformant(place) as url:
        assert failures(url, revision, place) <= FORMS
