import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from unweave.runs import Config, Run
from unweave.runs.evaluation import evaluate, relations_of

SMALL = [
    "latents=4",
    "batch_size=8",
    "steps=3",
    "learning_rate=1e-3",
    "encoder.channels=[4,8]",
    "encoder.hidden=[8]",
]
DECONV = ["decoder.channels=[8,4]", "decoder.hidden=[8]"]
BROADCAST = ["decoder=SpatialBroadcast", "decoder.width=8"]


DECODER = """
import math
import torch
from torch import nn

class Odd(nn.Module):
    def __init__(self, latents: int, output_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape, self.layer = output_shape, nn.Linear(latents, math.prod(output_shape))

    def forward(self, codes):
        return torch.sin(self.layer(codes)).view(-1, *self.shape)
"""


@pytest.fixture(scope="session")
def odd_decoder() -> str:
    """A file with a decoder that the kernel does not know."""
    return DECODER


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Trains a small run of the words given, for three steps."""
    root = tmp_path_factory.mktemp("explored")

    def make(name: str, *words: str, data: str = "circles", size: int = 64) -> Run:
        is_vae = not any(word.startswith("model=") for word in words)
        small = SMALL if is_vae else [word for word in SMALL if not word.startswith(("encoder", "latents"))]
        config = Config.read(words=[f"data={data}", f"data.size={size}", *small, *words])
        run = Run.create(config, root / name, "unweave train ...")
        assert run.train().status == "finished"
        return run

    return make


@pytest.fixture(scope="session")
def deconv(make_run: Callable[..., Run]) -> Run:
    """A scored run on circles; nothing may change it."""
    run = make_run("deconv", *DECONV)
    relations_of(run, evaluate(run))
    return run


@pytest.fixture(scope="session")
def broadcast(make_run: Callable[..., Run]) -> Run:
    """A run on the same data with the other decoder, without scores."""
    return make_run("broadcast", *BROADCAST)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium, if there is one."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


class Opened:
    """A page in the browser, with everything that it said and asked for."""

    def __init__(self, browser: Any, path: Path, **context: Any) -> None:
        self.page = browser.new_context(**context).new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.address = path.resolve().as_uri()

    def open(self, link: str = "") -> "Opened":
        self.page.goto(self.address + link)
        self.page.wait_for_selector("html[data-complete]")
        self.settle()
        return self

    def settle(self) -> None:
        """Until the page has come to rest: it then writes the link. One call, so that no earlier rest comes between."""
        self.page.evaluate(
            """() => {
                document.getElementById("together").dispatchEvent(new Event("change"));
                history.replaceState(null, "", "#");
            }"""
        )
        self.until("location.hash.length > 1")

    def until(self, condition: str) -> None:
        """Until something holds; playwright's own way evaluates text, which the page's policy forbids."""
        self.page.evaluate(
            """async () => {
                const last = performance.now() + 30000;
                while (!(CONDITION)) {
                    if (performance.now() > last) throw new Error("CONDITION does not come true");
                    await new Promise(requestAnimationFrame);
                }
            }""".replace("CONDITION", condition)
        )

    def codes(self) -> list[list[float]]:
        return self.page.evaluate("UnweaveExplorer.codes()")  # type: ignore[no-any-return]

    def pixels(self, run: int) -> list[int]:
        """Red, green and blue of what a run's picture shows, (height, width, 3) in a row."""
        return self.page.evaluate(  # type: ignore[no-any-return]
            """run => {
                const canvas = UnweaveExplorer.canvases[run];
                const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                return Array.from(data).filter((_, i) => i % 4 !== 3);
            }""",
            run,
        )

    def problem(self) -> str:
        return self.page.inner_text("#problem")  # type: ignore[no-any-return]

    def drop(self, path: Path, name: str = "") -> None:
        """Drop a file on the page, as a hand does."""
        transfer = self.page.evaluate_handle(
            """([bytes, name]) => {
                const transfer = new DataTransfer();
                transfer.items.add(new File([new Uint8Array(bytes)], name));
                return transfer;
            }""",
            [list(path.read_bytes()), name or path.name],
        )
        self.page.dispatch_event("body", "drop", {"dataTransfer": transfer})


@pytest.fixture(scope="module")
def open_page(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a page in a context of its own, closed at the end of the module."""
    opened: list[Opened] = []

    def make(path: Path, **context: Any) -> Opened:
        opened.append(Opened(browser, path, **context))
        return opened[-1]

    yield make
    for each in opened:
        each.page.context.close()
