"""Keeps examples of answers for the OpenAPI document: what a real server said to the examples of requests.

An example that still fits what its operation answers stays, so that ids and times change only where something
else does. `python -m scripts.answers` renews the others.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from beliefd.protocol.answers import FILE, kept_answers, still_fits

PLACE = Path(__file__).parents[1] / "src" / "beliefd" / "protocol" / FILE


def main() -> None:
    from tests.http.story import told_story

    with tempfile.TemporaryDirectory() as folder:
        told = told_story(Path(folder))
    kept = kept_answers() if PLACE.exists() else {}
    answers: dict[str, Any] = {
        name: kept[name] if name in kept and still_fits(kept[name], told[name]) else told[name]
        for name in sorted(told)
    }
    PLACE.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
