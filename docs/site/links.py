"""Follow every internal link of a built site: its file must exist, and the place within it too."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.places.update(name for name in (given.get("id"), given.get("name")) if name)
        self.targets += [target for target in (given.get("href"), given.get("src")) if target]


def dead(site: Path) -> list[str]:
    """A line for every link of a page to a file or place of the site that is not there."""
    pages = {path.resolve(): _read(path) for path in site.rglob("*.html") if "explore" not in path.name}
    found = []
    for path, page in pages.items():
        for target in dict.fromkeys(page.targets):
            if re.match(r"[a-z+]+:", target) or target.startswith("//"):
                continue
            file, _, place = target.partition("#")
            aim = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            name = path.relative_to(site.resolve())
            if not aim.exists():
                found.append(f"{name}: {target} does not exist")
            elif place and aim in pages and unquote(place) not in pages[aim].places:
                found.append(f"{name}: {target} has no such place")
    return found


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text())
    return page
