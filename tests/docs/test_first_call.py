"""From the README alone to an approved call of one's own agent, which runs once."""

import re
from pathlib import Path

import httpx
import pytest

from tests.docs.pages import ROOT, blocks
from tests.docs.reader import Reader

OWN = {"Sec-Fetch-Site": "same-origin"}


@pytest.mark.slow
def test_what_a_person_approves_in_the_console_runs_when_the_agent_comes_back(tmp_path: Path) -> None:
    steps = [block for block in blocks(ROOT / "README.md") if block.language in ("bash", "python")]
    assert steps[-1].text == "python agent.py\n"
    with Reader(tmp_path, None) as reader:
        for step in steps:
            reader.follow(step)
        link = reader.said_later(r"look and decide at (\S+)")
        assert "sent to anna@example.com" in reader.output
        waiting = re.search(r"Approval `(apr-[\w-]+)`", reader.output)
        assert waiting is not None
        with httpx.Client(base_url=httpx.URL(link).copy_with(path="/", query=None), timeout=60) as person:
            assert person.get(link).status_code == 303
            card = person.get(f"/inbox/{waiting[1]}")
            seen = re.search(r'name="content_hash" value="([0-9a-f]+)"', card.text)
            assert seen is not None
            form = {"content_hash": seen[1], "decision": "APPROVED", "reason": "Eve is new here"}
            assert person.post(f"/inbox/{waiting[1]}", data=form, headers=OWN).status_code == 303
        reader.follow(steps[-1])
        assert "sent to eve@example.net" in reader.output
        assert "sent to anna@example.com" not in reader.output
        reader.follow(steps[-1])
        assert "sent to" not in reader.output


def test_the_lines_that_guard_an_agent_are_as_few_as_the_readme_says() -> None:
    [lines] = [block.text for block in blocks(ROOT / "README.md") if block.option("file") == "agent.py"]
    assert "Then ten lines," in (ROOT / "README.md").read_text()
    assert len([line for line in lines.splitlines() if line.strip()]) == 10
