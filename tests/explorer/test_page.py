"""The page in a browser, opened from a file: what it shows is what PyTorch computes, and it asks for nothing."""

import base64
import http.server
import json
import os
import sys
import threading
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from page_content import kept_in

import unweave
from unweave.explorer import write_explorer
from unweave.explorer.letters import file_of, letters_of
from unweave.models import TrainedModel
from unweave.runs import Run

AXE = Path(os.environ.get("UNWEAVE_AXE", "node_modules/axe-core/axe.min.js"))
"""The accessibility checker: npm install axe-core, in the folder of the tests or anywhere."""


@pytest.fixture(scope="module")
def models(deconv: Run, broadcast: Run) -> list[TrainedModel]:
    return [unweave.load(deconv.folder), unweave.load(broadcast.folder)]


@pytest.fixture(scope="module")
def written(models: list[TrainedModel], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_explorer(models, tmp_path_factory.mktemp("page") / "page.html", precision="float32")


@pytest.fixture(scope="module")
def opened(written: Path, open_page: Callable[..., Any]) -> Any:
    return open_page(written).open()


@pytest.fixture
def fresh(opened: Any) -> Any:
    """The page as it is after it was opened, without paying for another one."""
    opened.open()
    return opened


def expected(model: TrainedModel, code: list[float]) -> NDArray[np.float64]:
    [image] = model.decode(np.array(code, np.float32))
    return np.broadcast_to(255 * image.transpose(1, 2, 0), (*image.shape[1:], 3)).ravel().astype(np.float64)


def test_it_asks_for_nothing_and_says_nothing(opened: Any) -> None:
    assert opened.messages == []
    assert set(opened.requests) == {opened.address}


EVERY = b"".join(
    bytes(1) + np.arange(start, min(start + 32767, 65536), dtype="<u2").tobytes()
    for start in (0, 32767, 65534)
)


def stored(content: bytes) -> bytes:
    """Deflated without compression: in blocks with a head of five bytes, so that EVERY holds each pair as a letter."""
    blocks = [content[start : start + 65535] for start in range(0, len(content), 65535)]
    heads = [
        len(block).to_bytes(2, "little") + (65535 - len(block)).to_bytes(2, "little") for block in blocks
    ]
    ends = [b"\0"] * (len(blocks) - 1) + [b"\1"]
    body = b"".join(end + head + block for end, head, block in zip(ends, heads, blocks, strict=True))
    return b"\x78\x01" + body + zlib.adler32(content).to_bytes(4, "big")


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A page that keeps all letters."""
    loader = (Path(unweave.__file__).parent / "explorer" / "page" / "loader.js").read_text()
    kept = {"code": stored(b"window.isStarted = true"), "every": stored(EVERY)}
    assert len(set(np.frombuffer(kept["every"] + bytes(len(kept["every"]) % 2), "<u2").tolist())) == 65536
    elements = [
        f'<script type="application/octet-stream" id="{name}" data-stride="1" data-bytes="{len(each)}">'
        f"{letters_of(each)}</script>"
        for name, each in kept.items()
    ]
    path = tmp_path / "letters.html"
    path.write_bytes(file_of(f"<!DOCTYPE html><p id=problem>{''.join(elements)}<script>{loader}</script>"))
    return path


class Utf8(http.server.SimpleHTTPRequestHandler):
    """Says of every page that it is written in UTF-8, as many servers do."""

    extensions_map = {".html": "text/html; charset=utf-8"}  # noqa: RUF012  the standard library's own name

    def log_message(self, *message: Any) -> None:
        """Nothing."""


@pytest.mark.parametrize("place", ["file", "a server that says UTF-8"])
def test_no_letter_is_lost(place: str, letters: Path, browser: Any) -> None:
    handler = partial(Utf8, directory=letters.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(
            letters.as_uri() if place == "file" else f"http://127.0.0.1:{server.server_port}/letters.html"
        )
        found = page.evaluate(
            """() => UnweavePage.blob("every").then(
                (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")))"""
        )
        assert base64.b64decode(found) == EVERY
        assert page.evaluate("isStarted")
        page.close()
        server.shutdown()


def test_what_is_drawn_is_what_the_model_decodes(fresh: Any, models: list[TrainedModel]) -> None:
    slider = fresh.page.locator("#latents .run").nth(0).locator("input").nth(0)
    before = [fresh.pixels(i) for i in range(2)]
    slider.evaluate("input => { input.value = 1.7; input.dispatchEvent(new Event('input')); }")
    fresh.settle()
    for i, model in enumerate(models):
        assert fresh.pixels(i) != before[i], "both move together"
        # Rounded to 8 bits; a value near half a step may be rounded either way.
        np.testing.assert_allclose(fresh.pixels(i), expected(model, fresh.codes()[i]), atol=0.5 + 255 * 1e-5)


def test_a_picture_of_the_data_has_the_code_that_pytorch_gave(
    fresh: Any, models: list[TrainedModel], deconv: Run
) -> None:
    images = deconv.dataset().sample(256, np.random.default_rng(0)).images
    for i in (0, 3):
        fresh.page.locator("#thumbnails button").nth(i).click()
        fresh.settle()
        for model, code in zip(models, fresh.codes(), strict=True):
            np.testing.assert_allclose(code, model.encode(images).means[i], atol=1e-6)
        assert f"picture {i + 1} of the data" in fresh.page.inner_text("#source")
        assert fresh.page.inner_text("#cards").count("error") == 2


AT_ONCE = """
new MutationObserver((_, observer) => {
  if (!document.documentElement?.dataset.ready) return;
  observer.disconnect();
  const input = document.querySelector("#latents input");
  globalThis.early = { isComplete: "complete" in document.documentElement.dataset, before: UnweaveExplorer.codes() };
  input.value = 1.5;
  input.dispatchEvent(new Event("input"));
  globalThis.early.after = UnweaveExplorer.codes();
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 40;
  canvas.getContext("2d").fillRect(5, 9, 20, 20);
  canvas.toBlob((blob) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([blob], "early.png"));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
  });
}).observe(document, { attributes: true, subtree: true, childList: true });
"""


def test_it_can_be_moved_before_everything_is_there(
    written: Path, models: list[TrainedModel], open_page: Callable[..., Any]
) -> None:
    page = open_page(written)
    page.page.add_init_script(AT_ONCE)
    page.page.goto(page.address)
    page.page.wait_for_selector("#source:has-text('early.png')")
    early = page.page.evaluate("early")
    assert not early["isComplete"]
    assert early["before"] != early["after"]
    pixels = np.zeros((40, 40, 4), np.uint8)
    pixels[9:29, 5:25, 3] = 255
    picture = PIL.Image.fromarray(pixels)
    for model, code in zip(models, page.codes(), strict=True):
        np.testing.assert_allclose(code, model.code(picture), atol=1e-5)
    page.page.wait_for_selector("html[data-complete]")
    assert page.messages == []


def test_single_keys_can_be_switched_off(fresh: Any) -> None:
    before = fresh.codes()
    fresh.page.uncheck("#keys")
    fresh.page.keyboard.press("r")
    fresh.settle()
    assert fresh.codes() == before


def test_many_transparent_pictures_leave_nothing_behind(fresh: Any, tmp_path: Path) -> None:
    """A browser gives a page sixteen drawing contexts; the seventeenth took one away and said so in the console."""
    for i in range(18):
        PIL.Image.new("RGBA", (8 + i, 8), (9 * i, 50, 20, 128)).save(tmp_path / f"{i}.png")
        fresh.drop(tmp_path / f"{i}.png")
        fresh.page.wait_for_selector(f"#source:has-text('{i}.png')")
    assert fresh.messages == []


def test_a_slider_moves_the_latent_of_the_same_rank(fresh: Any, models: list[TrainedModel]) -> None:
    before = np.array(fresh.codes())
    slider = fresh.page.locator("#latents .run").nth(1).locator("input").nth(2)
    slider.evaluate("input => { input.value = input.max; input.dispatchEvent(new Event('input')); }")
    fresh.settle()
    changed = np.array(fresh.codes()) != before
    assert models[0].kl is not None
    assert np.flatnonzero(changed[0]).tolist() == [int(np.argsort(-models[0].kl, kind="stable")[2])]
    assert changed[1].sum() == 1
    fresh.page.uncheck("#together")
    slider.evaluate("input => { input.value = input.min; input.dispatchEvent(new Event('input')); }")
    fresh.settle()
    now = np.array(fresh.codes())
    assert (now[0] == np.where(changed[0], now[0], before[0])).all()
    assert now[1].min() < before[1].min()


@pytest.mark.parametrize(
    ("name", "mode", "size"),
    [("large.png", "RGB", (301, 190)), ("grey.png", "L", (50, 50)), ("clear.png", "RGBA", (80, 120))],
)
def test_a_dropped_picture_has_the_codes_that_encode_gives(
    name: str, mode: str, size: tuple[int, int], opened: Any, models: list[TrainedModel], tmp_path: Path
) -> None:
    channels = len(PIL.Image.new(mode, (1, 1)).getbands())
    pixels = np.random.default_rng(len(name)).integers(0, 256, (size[1], size[0], channels), np.uint8)
    PIL.Image.fromarray(pixels.squeeze()).save(tmp_path / name)
    before = opened.codes()
    opened.drop(tmp_path / name)
    opened.until(f"UnweaveExplorer.codes()[0][0] !== {before[0][0]!r}")
    for model, code in zip(models, opened.codes(), strict=True):
        np.testing.assert_allclose(code, model.code(tmp_path / name), atol=1e-5)
    assert name in opened.page.inner_text("#source")


def test_a_chosen_picture_is_taken_and_other_files_are_not(
    fresh: Any, models: list[TrainedModel], tmp_path: Path
) -> None:
    PIL.Image.new("RGB", (70, 64), (200, 20, 90)).save(tmp_path / "red.png")
    (tmp_path / "notes.txt").write_text("not a picture")
    fresh.page.set_input_files("#file", tmp_path / "red.png")
    fresh.page.wait_for_selector("#source:has-text('red.png')")
    np.testing.assert_allclose(fresh.codes()[0], models[0].code(tmp_path / "red.png"), atol=1e-5)
    fresh.drop(tmp_path / "notes.txt")
    fresh.page.wait_for_selector("#problem:not([hidden])")
    assert fresh.problem() == "notes.txt is not a picture that this browser can read."
    np.testing.assert_allclose(fresh.codes()[0], models[0].code(tmp_path / "red.png"), atol=1e-5)


def test_factors_show_the_renderers_picture_and_its_code(
    fresh: Any, written: Path, models: list[TrainedModel], deconv: Run
) -> None:
    x = fresh.page.locator("#factor-sliders input").nth(0)
    x.evaluate("input => { input.value = input.max; input.dispatchEvent(new Event('input')); }")
    fresh.page.wait_for_selector("#source:has-text('by its factors')")
    fresh.settle()
    at = [fresh.page.locator("#factor-sliders output").nth(k).inner_text() for k in range(2)]
    levels = json.loads(kept_in(written, "facts"))["data"]["frames"]["levels"]
    y = min(levels[1], key=lambda level: abs(level - float(at[1])))
    image = deconv.dataset().images([[levels[0][-1], y]])
    np.testing.assert_allclose(fresh.codes()[1], models[1].code(image), atol=1e-4)


def test_a_link_brings_everything_back(fresh: Any, written: Path, open_page: Callable[..., Any]) -> None:
    fresh.page.keyboard.press("r")
    fresh.page.keyboard.press("a")
    fresh.page.keyboard.press("r")
    fresh.page.keyboard.press("b")
    fresh.page.locator("#between-slider").evaluate(
        "input => { input.value = 0.25; input.dispatchEvent(new Event('input')); }"
    )
    fresh.page.select_option("#axis-x", "3")
    fresh.page.select_option("#tint", label="y")
    fresh.page.uncheck("#follow")
    fresh.settle()
    link = fresh.page.evaluate("location.hash")
    other = open_page(written).open(link)
    assert other.codes() == fresh.codes()
    np.testing.assert_array_equal(other.pixels(1), fresh.pixels(1))
    assert other.page.evaluate("location.hash") == link
    assert other.page.input_value("#axis-x") == "3"
    assert other.page.input_value("#between-slider") == "0.25"
    assert not other.page.is_checked("#follow")
    assert other.page.locator("#pinned-a canvas").count() == 2
    other.page.locator("#factor-sliders input").nth(1).evaluate(
        "input => { input.value = 2; input.dispatchEvent(new Event('input')); }"
    )
    other.page.wait_for_selector("#source:has-text('by its factors')")
    other.settle()
    assert "error" in other.page.inner_text("#cards")
    link, codes = other.page.evaluate("location.hash"), other.codes()
    other.page.goto("about:blank")
    other.open(link)
    other.page.wait_for_selector("#source:has-text('by its factors')")
    other.settle()
    assert (other.codes(), other.page.evaluate("location.hash")) == (codes, link)
    assert other.page.locator("#factor-sliders input").nth(1).input_value() == "2"
    assert "error" in other.page.inner_text("#cards")
    other.page.goto("about:blank")
    other.open("#runs=other.models&z=AAAA")
    assert other.problem() == "The link is of another page: it names other models."


def test_keys(fresh: Any, models: list[TrainedModel]) -> None:
    at_first = fresh.codes()
    fresh.page.keyboard.press("2")
    assert models[0].kl is not None
    second = int(np.argsort(-models[0].kl, kind="stable")[1])
    assert fresh.page.evaluate("document.activeElement.id") == f"latent-0-{second}"
    fresh.page.keyboard.press("ArrowRight")
    fresh.settle()
    moved = np.array(fresh.codes()[0]) - at_first[0]
    assert np.flatnonzero(moved).tolist() == [second]
    assert moved[second] > 0
    fresh.page.keyboard.press("r")
    fresh.settle()
    drawn = fresh.codes()
    assert drawn[0] != at_first[0]
    fresh.page.locator("#planes canvas").nth(0).focus()
    fresh.page.keyboard.press("ArrowUp")
    fresh.settle()
    assert fresh.codes()[0][second] > drawn[0][second]
    fresh.page.keyboard.press("0")
    fresh.settle()
    assert fresh.codes() == at_first


def test_the_plane_is_walked_by_the_pointer(fresh: Any, models: list[TrainedModel]) -> None:
    fresh.page.uncheck("#follow")
    canvas = fresh.page.locator("#planes canvas").nth(0)
    canvas.scroll_into_view_if_needed()
    box, before = canvas.bounding_box(), np.array(fresh.codes()[0])
    fresh.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    fresh.page.mouse.down()
    fresh.page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 2, steps=3)
    fresh.page.mouse.up()
    fresh.settle()
    code = np.array(fresh.codes()[0])
    assert models[0].kl is not None
    first, second = np.argsort(-models[0].kl, kind="stable")[:2]
    assert code[first] > 2.5, "right edge: beyond the upper end of N(0, 1)'s range"
    assert code[second] > 2.5
    others = [j for j in range(4) if j not in (first, second)]
    assert (code[others] == before[others]).all()
    fresh.page.check("#follow")
    canvas.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    fresh.settle()
    assert (np.array(fresh.codes()[0])[others] != before[others]).all()


def test_a_picture_around_the_code_leads_there(fresh: Any, models: list[TrainedModel]) -> None:
    cell = fresh.page.locator("#grids .run").nth(0).locator("button").nth(7 + 6)
    cell.scroll_into_view_if_needed()
    fresh.until("document.querySelectorAll('.grid canvas')[13].width > 1")
    assert models[0].kl is not None
    second = int(np.argsort(-models[0].kl, kind="stable")[1])
    shown = cell.evaluate(
        """button => {
            const canvas = button.querySelector("canvas");
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return Array.from(data).filter((_, i) => i % 4 !== 3);
        }"""
    )
    cell.click()
    fresh.settle()
    assert fresh.codes()[0][second] == pytest.approx(2.58, abs=0.1)
    assert fresh.pixels(0) == shown


def test_other_scripts_are_refused(opened: Any) -> None:
    ran = opened.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.foreign = true";
            document.head.append(script);
            return "foreign" in window;
        }"""
    )
    assert not ran
    opened.messages.clear()


def test_it_fits_a_phone(written: Path, open_page: Callable[..., Any]) -> None:
    phone = open_page(written, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True).open()
    wide = phone.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide == 0
    before = phone.codes()
    phone.page.locator("#planes canvas").nth(1).scroll_into_view_if_needed()
    phone.page.locator("#planes canvas").nth(1).tap()
    phone.settle()
    assert phone.codes()[1] != before[1]


def test_without_webassembly_it_says_so(written: Path, open_page: Callable[..., Any]) -> None:
    old = open_page(written)
    old.page.add_init_script("delete globalThis.WebAssembly")
    old.page.goto(old.address)
    old.page.wait_for_selector("#problem:not([hidden])")
    assert old.problem().startswith("This browser has no WebAssembly")
    assert old.page.is_hidden("#explorer")
    assert old.messages == []


HARD = {
    "a prior that does not factorise": ["prior=ISA"],
    "fifty latents": ["latents=50"],
    "a GAN": ["model=InfoGAN", "model.channels=[8,8]", "model.hidden=16"],
    "a Gaussian likelihood": ["likelihood=Gaussian", "standardise=true"],
    "one latent": ["latents=1"],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HARD)
def test_every_kind_of_model_can_be_moved(
    kind: str, make_run: Callable[..., Run], open_page: Callable[..., Any], tmp_path: Path
) -> None:
    model = unweave.load(make_run(kind.replace(" ", "-"), *HARD[kind], size=32).folder)
    opened = open_page(write_explorer([model], tmp_path / "page.html", precision="float32")).open()
    opened.page.keyboard.press("r")
    opened.page.keyboard.press("1")
    opened.page.keyboard.press("End")
    opened.settle()
    np.testing.assert_allclose(opened.pixels(0), expected(model, opened.codes()[0]), atol=0.5 + 255 * 1e-5)
    opened.page.locator("#thumbnails button").nth(2).click()
    opened.settle()
    image = model.config.make_dataset().sample(256, np.random.default_rng(0)).images[2]
    np.testing.assert_allclose(opened.codes()[0], model.code(image), atol=1e-4)
    assert opened.messages == []


@pytest.mark.slow
def test_an_outside_decoder_shows_what_was_made_beforehand(
    make_run: Callable[..., Run], odd_decoder: str, open_page: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "odd.py").write_text(odd_decoder)
    model = unweave.load(make_run("odd-in-a-page", f"decoder={tmp_path}/odd.py:Odd", size=32).folder)
    opened = open_page(write_explorer([model], tmp_path / "page.html")).open()
    for key in ("r", "2", "End"):
        opened.page.keyboard.press(key)
    opened.settle()
    np.testing.assert_allclose(opened.pixels(0), expected(model, opened.codes()[0]), atol=0.51)
    assert "beforehand" in opened.page.inner_text("header")
    assert opened.messages == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_of_accessibility(scheme: str, written: Path, open_page: Callable[..., Any]) -> None:
    if not AXE.is_file():
        pytest.skip("npm install axe-core, or set UNWEAVE_AXE to its axe.min.js")
    checked = open_page(written, color_scheme=scheme, bypass_csp=True).open()
    checked.page.keyboard.press("a")
    checked.page.keyboard.press("b")
    checked.page.add_script_tag(path=AXE)
    found = checked.page.evaluate("axe.run().then(found => found.violations)")
    serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
    assert serious == [], [(fault["id"], fault["nodes"][0]["html"]) for fault in serious]
