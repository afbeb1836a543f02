"""The pages in a browser: no request, no message, tables sort, points show images, and nobody is shut out."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reports.test_page import Blobs, CenterOfMass, FakeRun
from tests.reports.test_sweep_report import sweep_of

from unweave.reports import write_comparison_report, write_run_report, write_sweep_report

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
CHROMIUM = shutil.which("chromium")
AXE = Path(os.environ.get("UNWEAVE_AXE", "node_modules/axe-core/axe.min.js"))
"""The accessibility checker: npm install axe-core, in the folder of the tests or anywhere."""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="apt-get install chromium")
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    one, two = (
        FakeRun(folder / "one"),
        FakeRun(folder / "two", vae=CenterOfMass(0, fold=True), decoder="Deconv"),
    )
    return {
        "run": write_run_report(one, folder / "run.html"),
        "comparison": write_comparison_report([one, two], folder / "comparison.html"),
        "sweep": write_sweep_report(sweep_of(folder / "sweep")[0], folder / "sweep" / "page.html"),
    }


class Shown:
    """A page in the browser, with what it asked for and what it complained about."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, dark: bool = False) -> None:
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
        self.page, self.path = context.new_page(), path
        self.requests: list[str] = []
        self.messages: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.goto(path.resolve().as_uri())

    def check(self) -> None:
        assert self.messages == []
        asked = [url for url in self.requests if not url.startswith("data:")]
        assert asked == [self.path.resolve().as_uri()], "nothing is loaded"
        assert self.page.evaluate(WIDE) == 0, "no scrolling sideways"
        self.page.context.close()


@pytest.mark.parametrize("name", ["run", "comparison", "sweep"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_pages_fit_and_load_nothing(
    browser: Any, pages: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    shown = Shown(browser, pages[name], width, dark)
    sizes = shown.page.evaluate(
        "Array.from(document.querySelectorAll('main > section:not(:has(details)) .chart, main > section .strip'),"
        "  e => [e.getBoundingClientRect().width, e.naturalWidth ?? 1])"
    )
    assert len(sizes) > 5 and all(natural > 0 for _, natural in sizes)
    assert all(shown_width > 100 for shown_width, _ in sizes[:5])
    ground = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = shown.page.evaluate("getComputedStyle(document.querySelector('.chart text')).fill")
    assert (sum(map(int, ground[4:-1].split(","))) < 200) == dark
    assert (sum(map(int, ink[4:-1].split(","))) > 500) == dark, "figures follow the theme"
    shown.check()


def test_print_is_light_and_complete(browser: Any, pages: dict[str, Path]) -> None:
    shown = Shown(browser, pages["run"], dark=True)
    shown.page.emulate_media(media="print", color_scheme="dark")
    assert shown.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.page.locator(".player").first.is_hidden()
    assert shown.page.locator(".sheet .strip").first.is_visible()
    shown.page.emulate_media(media="screen")
    shown.check()


def test_a_page_without_script_shows_everything(browser: Any, pages: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["run"].resolve().as_uri())
    assert page.locator(".chart").first.is_visible() and page.locator(".strip").first.is_visible()
    assert page.locator("img.sprites").first.is_hidden()
    assert page.locator("table.scores thead button").count() == 0, "no button that does nothing"
    context.close()


def column(page: Any, number: int) -> list[float]:
    texts = page.locator(f"table.sortable >> nth=0 >> tbody tr td:nth-child({number}) b").all_inner_texts()
    return [float(text.replace("−", "-")) for text in texts]


def test_tables_sort_by_click_and_by_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    shown = Shown(browser, pages["sweep"])
    page = shown.page
    before = column(page, 3)
    header = page.locator("table.sortable >> nth=0 >> th:nth-child(3)")
    assert header.get_attribute("aria-sort") is None
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert column(page, 3) == sorted(before, reverse=True) != before
    page.keyboard.press("Enter")  # the header has the focus
    assert header.get_attribute("aria-sort") == "ascending"
    assert column(page, 3) == sorted(before)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    names = page.locator("table.sortable >> nth=0 >> tbody th").all_inner_texts()
    assert names == sorted(names)
    assert header.get_attribute("aria-sort") is None, "one column is sorted at a time"
    shown.check()


def test_rows_of_parts_stay_below_their_score(browser: Any, pages: dict[str, Path]) -> None:
    shown = Shown(browser, pages["run"])
    shown.page.locator("table.scores th:first-child button").click()
    rows = shown.page.locator("table.scores tbody tr").evaluate_all(
        "rows => rows.map(row => [row.classList.contains('minor'), row.cells[0].firstChild.textContent.trim()])"
    )
    first = next(k for k, (_, name) in enumerate(rows) if name == "geometry")
    assert [name for _, name in rows[first + 1 : first + 4]] == ["linear fit", "unfolded", "tilt"]
    assert not rows[0][0]
    shown.check()


def pixels(page: Any, canvas: int) -> np.ndarray:
    """The values of a canvas of the card, (height, width)."""
    data = page.evaluate(
        "k => { const c = document.querySelectorAll('.card canvas')[k];"
        " return [c.height, Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data)]; }",
        canvas,
    )
    return np.array(data[1]).reshape(data[0], -1, 4)[..., 0]


def test_pointing_shows_the_image_behind_a_point_and_what_is_decoded(
    browser: Any, pages: dict[str, Path]
) -> None:
    shown = Shown(browser, pages["run"])
    page = shown.page
    figure = page.locator(".linked .live").nth(1)
    figure.scroll_into_view_if_needed()
    points = figure.evaluate("e => JSON.parse(e.dataset.points)")
    box = figure.bounding_box()
    x, y, label, tile, _ = points[17]
    assert page.locator(".linked .card").is_hidden()
    page.mouse.move(box["x"] + box["width"] * x / 1000, box["y"] + box["height"] * y / 1000)
    card = page.locator(".linked .card")
    assert card.is_visible() and label in card.inner_text()
    # The grid has 21 x 21 points, of which every second in each direction can be asked for.
    values = np.linspace(0.3, 0.7, 21)[::2]
    place = np.array([[values[tile // 11], values[tile % 11]]])
    expected = np.rint(255 * Blobs().images(place)[0, 0])
    np.testing.assert_array_equal(pixels(page, 0), expected)
    decoded = CenterOfMass(30).reconstruct(Blobs().images(place))
    np.testing.assert_allclose(pixels(page, 1), 255 * decoded[0, 0], atol=0.51)
    assert page.locator(".linked .ring:visible").count() == 2, (
        "the same point is marked in the grid of factors"
    )
    page.mouse.move(0, 0)
    assert card.is_hidden()
    shown.check()


def test_a_click_keeps_and_the_keyboard_reaches_every_point(browser: Any, pages: dict[str, Path]) -> None:
    shown = Shown(browser, pages["run"])
    page = shown.page
    figure = page.locator(".linked .live").nth(0)
    figure.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    card = page.locator(".linked .card")
    assert card.is_visible()
    assert "x 0.38, y 0.34" in card.inner_text() or "x 0.34, y 0.34" in card.inner_text()
    page.keyboard.press("Enter")
    page.mouse.move(3, 3)
    assert card.is_visible(), "it was kept"
    page.keyboard.press("Escape")
    assert card.is_hidden()
    shown.check()


def test_a_click_on_a_run_of_a_sweep_leads_to_it(browser: Any, pages: dict[str, Path]) -> None:
    shown = Shown(browser, pages["sweep"])
    page = shown.page
    figure = page.locator(".live").first
    figure.scroll_into_view_if_needed()
    x, y, _, _, link = figure.evaluate("e => JSON.parse(e.dataset.points)")[0]
    box = figure.bounding_box()
    with page.expect_navigation():
        page.mouse.click(box["x"] + box["width"] * x / 1000, box["y"] + box["height"] * y / 1000)
    assert page.url.rstrip("/").endswith(link)
    page.context.close()


def test_the_traversals_move_and_can_be_stopped(browser: Any, pages: dict[str, Path]) -> None:
    shown = Shown(browser, pages["run"])
    page = shown.page
    button, slider = page.locator(".player button").first, page.locator(".player input").first
    button.click()
    assert button.inner_text() == "Play"
    read = "document.querySelector('.player canvas').toDataURL()"
    frames = set()
    for value in ("0", "4", "8"):
        slider.fill(value)
        frames.add(page.evaluate(read))
    assert len(frames) == 3, "the strongest latent changes the image"
    shown.check()


@pytest.mark.parametrize("name", ["run", "comparison", "sweep"])
def test_no_serious_fault_of_accessibility(browser: Any, pages: dict[str, Path], name: str) -> None:
    if not AXE.exists():
        pytest.skip("npm install axe-core, or set UNWEAVE_AXE to its axe.min.js")
    shown = Shown(browser, pages[name])
    shown.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    shown.page.evaluate(AXE.read_text())
    found = shown.page.evaluate("axe.run().then(found => found.violations)")
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert not serious, [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in serious]
    shown.check()
