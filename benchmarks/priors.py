"""Speed of the priors: a million samples, and densities with gradients of a training batch, on one thread.

Times are seconds of processor time, so other processes of the machine do not count.

python benchmarks/priors.py            prints a table
python benchmarks/priors.py --json     also writes benchmarks/results/priors.json
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from unweave.priors import PRIORS


def best_of(repeats: int, action: Callable[[], object]) -> float:
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        action()
        seconds.append(time.process_time() - started)
    return min(seconds)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    results = {}
    print(f"{'prior':20s} {'10^6 samples, 20 latents':>26s} {'log_prob and gradient, 256 x 20':>34s}")
    for name, part in PRIORS.items():
        law = part(20)()
        z = torch.randn(256, 20, requires_grad=True)
        sampling = best_of(2, lambda law=law: law.sample((1_000_000,)))
        density = best_of(20, lambda law=law, z=z: torch.autograd.grad(law.log_prob(z).sum(), z))
        results[name] = {
            "million_samples_seconds": sampling,
            "log_prob_gradient_milliseconds": 1000 * density,
        }
        print(f"{name:20s} {sampling:24.2f} s {1000 * density:31.2f} ms")
    if "--json" in sys.argv:
        path = Path(__file__).parent / "results" / "priors.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            json.dumps({"torch": torch.__version__, "threads": 1, "priors": results}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
