"""Reading the HTML pages that the reports write."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest


class Page(HTMLParser):
    """The text, the alternative texts of the pictures, and everything that a browser would load."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.pictures: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(content)
        assert self.open == [], "tags are balanced"
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        for key, value in attrs:
            if key in ("src", "href", "srcset", "data", "action"):
                self.loaded.append(value or "")
            if tag == "img" and key == "alt":
                self.pictures.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def read_page(path: Path) -> Page:
    content = path.read_text(encoding="utf-8")
    for loading in ("<script", "url(", "@import"):
        assert loading not in content
    page = Page(content)
    assert page.loaded
    assert all(link.startswith("data:image/") for link in page.loaded), (
        "nothing is loaded from outside the file"
    )
    return page


@pytest.fixture
def read() -> Callable[[Path], Page]:
    """Reads a page and checks that it is self-contained."""
    return read_page
