"""The same in a browser: one file, opened from disk, under a strict content security policy."""

import base64
import hashlib
import html
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from explorer_cases import CASES, cases_json, floats, inputs

from unweave.explorer.document import engine_source
from unweave.explorer.kernel.build import BUILT

RUN = """
// After the page has been loaded, for which playwright waits 30 seconds at most: to open models takes no break.
globalThis.ready = new Promise((done) => addEventListener("load", () => setTimeout(done))).then(() =>
  Promise.all(["float32", "float16", "fixed16"].map((precision) => {
    const [kernel, cases] = ["kernel", precision].map((id) => document.getElementById(id).textContent);
    return runCases(kernel, JSON.parse(cases));
  })));
"""


def page_of(data: dict[str, str]) -> str:
    scripts = [engine_source(), Path(__file__).with_name("run_cases.js").read_text(), RUN]
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    policy = f"default-src 'none'; img-src data:; script-src {allowed} 'wasm-unsafe-eval'"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>kernel</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">',
            '<link rel="icon" href="data:,">',
            *(f'<script type="application/json" id="{name}">{text}</script>' for name, text in data.items()),
            *(f"<script>{script}</script>" for script in scripts),
        ]
    )


@pytest.mark.slow
def test_every_kind_of_model_runs_in_a_browser_from_a_file_without_a_request(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    browser_path = shutil.which("chromium")
    assert browser_path, "apt-get install chromium"
    models = {name: case.model() for name, case in CASES.items()}
    data = {precision: cases_json(precision, models) for precision in ("float32", "float16", "fixed16")}
    data["kernel"] = base64.b64encode(BUILT.read_bytes()).decode()
    path = tmp_path / "page.html"
    path.write_text(page_of(data))
    messages: list[str] = []
    requests: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        found = json.loads(page.evaluate("ready.then(JSON.stringify)"))
        browser.close()
    assert messages == []
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    for results, tolerance in zip(found, (1e-5, 2e-3, 1e-3), strict=True):
        assert results.keys() == CASES.keys()
        for name, model in models.items():
            codes, images = inputs(model)
            expected = model.decode(codes)
            key = ",".join(str(side) for side in model.image_shape[1:])
            decoded = floats(results[name]["decoded"][key], *expected.shape)
            assert np.abs(decoded - expected).max() < tolerance, name
            for numbers, part in zip(model.model.codes(images), ("means", "deviations"), strict=True):
                scale = 1 if tolerance == 1e-5 else max(1, np.abs(numbers).max())
                assert (
                    np.abs(floats(results[name][part], *numbers.shape) - numbers).max() < tolerance * scale
                ), name
