"""The explorer's page: seconds to write it, its size, and milliseconds until it can be used.

    python benchmarks/explorer_page.py demo/deconv demo/spatialbroadcast
    python benchmarks/explorer_page.py dsprites-vae

Seconds of the processor are printed beside those of the clock: on a busy machine the latter say little. Those of the
page are of its main thread, which also parses, decodes and draws, until all is there. Ready: the first picture is
drawn, sliders and plane can be moved. Complete: pictures of the data are drawn and encoders opened, too.
UNWEAVE_CHROMIUM names another program than chromium, such as one that runs it at a higher priority.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def written(models: list[str], page: Path) -> tuple[float, float]:
    """Seconds of the clock and of the processor that the command takes, importing torch included."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "unweave", "explore", *models, "--out", str(page), "--quiet"], check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, used


def loaded(page: Path, times: int = 15) -> dict[str, list[float]]:
    """Milliseconds of the clock until the page is ready and complete, and those of its main thread, of each load."""
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {"ready": [], "complete": [], "thread": []}
    program = os.environ.get("UNWEAVE_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(times):
            tab = browser.new_page()
            session = tab.context.new_cdp_session(tab)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-complete]")
            metrics = session.send("Performance.getMetrics")["metrics"]
            seconds = {each["name"]: each["value"] for each in metrics}
            for name in ("ready", "complete"):
                found[name].append(float(tab.evaluate(f"document.documentElement.dataset.{name}")))
            found["thread"].append(1000 * seconds["TaskDuration"])
            tab.close()
        browser.close()
    return found


def told(times: list[float]) -> str:
    """The median, and the smallest and largest."""
    return f"{statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f})"


def main() -> None:
    models = sys.argv[1:] or ["dsprites-vae"]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        seconds, used = written(models, page)
        print(
            f"written in {seconds:.1f} s ({used:.1f} s of the processor), {page.stat().st_size / 1e6:.2f} MB"
        )
        found = loaded(page)
        print(f"ready after {told(found['ready'])}, complete after {told(found['complete'])}")
        print(
            f"its main thread worked for {told(found['thread'])}; load of the machine {os.getloadavg()[0]:.1f}"
        )


if __name__ == "__main__":
    main()
