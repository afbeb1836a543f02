"""More data than memory: 200,000 images in 2.46 GB, a process that may not have more than 1 GB of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "data.py"


@pytest.mark.slow
def test_training_stays_within_its_memory() -> None:
    """RLIMIT_DATA is enforced by the kernel: an allocation beyond it would end the run."""
    told = subprocess.run(
        [sys.executable, str(SCRIPT), "--memory"], capture_output=True, text=True, check=True
    ).stdout
    assert "finished 50 steps" in told
    size, budget, peak = (float(number) for number in re.findall(r"(\d+\.\d+) GB", told))
    assert size > 2 * budget
    assert peak < budget
