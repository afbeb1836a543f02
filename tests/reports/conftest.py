"""Reading the HTML pages that the reports write."""

import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest


class Page(HTMLParser):
    """The text, the alternative texts of the pictures and figures, links, and everything that a browser would load."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.pictures: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.hidden: list[str] = []
        self.feed(content)
        assert self.open == [], "tags are balanced"
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        given = {key: value or "" for key, value in attrs}
        if tag == "a":
            self.links.append(given["href"])
        elif tag != "use":  # whose reference stays in the page, see read_page
            self.loaded += [given[key] for key in ("src", "href", "srcset", "data", "action") if key in given]
        if tag == "img" and "hidden" in given:
            self.hidden.append(given["data-label"])
        elif tag == "img":
            self.pictures.append(given["alt"])
        elif given.get("role") == "img":
            self.pictures.append(given["aria-label"])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.words.append(data)


def read_page(path: Path) -> Page:
    content = path.read_text(encoding="utf-8")
    assert "@import" not in content
    assert not re.search(r"url\((?!#)|<use[^>]*href=\"(?!#)", content), "references stay in the page"
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", content, flags=re.S)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{}';"
    assert len(scripts) == 1 and policy.format(*digests) in content, "only the page's own script may run"
    names = re.findall(r' id="([^"]+)"', content)
    assert len(names) == len(set(names)), "every name is given once"
    page = Page(content)
    assert all(link.startswith("data:image/") for link in page.loaded), (
        "nothing is loaded from outside the file"
    )
    return page


@pytest.fixture
def read() -> Callable[[Path], Page]:
    """Reads a page and checks that it is self-contained."""
    return read_page
