"""The explorer's page: seconds to write it, its size, and milliseconds until it can be used.

    python benchmarks/explorer_page.py demo/deconv demo/spatialbroadcast
    python benchmarks/explorer_page.py dsprites-vae

Seconds of the processor are printed beside those of the clock: on a busy machine the latter say little. Those of the
page are of its main thread, which also parses, decodes and draws.
"""

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


def ready(page: Path, times: int = 7) -> tuple[float, float]:
    """Median milliseconds of the clock until the page is ready, and of its main thread by then."""
    from playwright.sync_api import sync_playwright

    clock, thread = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(times):
            tab = browser.new_page()
            session = tab.context.new_cdp_session(tab)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-ready]")
            clock.append(float(tab.evaluate("document.documentElement.dataset.ready")))
            found = {
                each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]
            }
            thread.append(1000 * found["TaskDuration"])
            tab.close()
        browser.close()
    return statistics.median(clock), statistics.median(thread)


def main() -> None:
    models = sys.argv[1:] or ["dsprites-vae"]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        seconds, used = written(models, page)
        print(
            f"written in {seconds:.1f} s ({used:.1f} s of the processor), {page.stat().st_size / 1e6:.2f} MB"
        )
        clock, thread = ready(page)
        print(f"ready after {clock:.0f} ms (its main thread worked for {thread:.0f} ms)")


if __name__ == "__main__":
    main()
