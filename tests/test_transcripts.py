"""Pages whose commands are run: what they print is what the page says, but for the numbers."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from make_transcripts import BLOCK, with_outputs  # noqa: E402

PAGES = [
    page
    for page in sorted((ROOT / "docs").glob("*.md"))
    if f"make_transcripts.py docs/{page.name}" in page.read_text()
]
IDENTITY = re.compile(r"(?<=-)[0-9a-f]{8}\b")
NUMBER = re.compile(r"-?\d[\d,.:]*(?:e-?\d+)?|\bnan\b")


def without_numbers(text: str) -> list[str]:
    """The lines of the console blocks; numbers, identities (of paths), and blanks that align them, do not count."""
    lines = IDENTITY.sub("identity", "\n".join(BLOCK.findall(text))).splitlines()
    return [re.sub(r"[ ─━]+", " ", NUMBER.sub("N", line)).strip() for line in lines]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    work = tmp_path / "work"
    work.mkdir()
    assert without_numbers(with_outputs(text, work)) == without_numbers(text)
    if page.stem == "models":
        assert len(re.findall(r"^\$ ", text, re.MULTILINE)) >= 14
        assert (work / "codes.csv").read_bytes() == (work / "again.csv").read_bytes()
        assert (work / "moving.webp").read_bytes()[8:12] == b"WEBP"


@pytest.mark.parametrize("name", ["own-pictures"])
def test_python_of_the_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / f"{name}.md").read_text()
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(code, names)
    assert names["means"].shape == (5, 4)  # type: ignore[attr-defined]
    search: Any = names["search"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert names["back"].shape == names["batch"].images.shape  # type: ignore[attr-defined]
