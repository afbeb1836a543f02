"""Counter-based randomness: the random numbers of a step depend on the seed and the step alone.

No generator is carried from one step to the next, so there is no state to save. A run that was killed and resumed
draws the same batches and the same noise as one that was not.
"""

from typing import Literal, get_args

import numpy as np
import torch

Stream = Literal["weights", "data", "noise", "evaluation", "scores", "prior", "schedule"]
_STREAMS: dict[Stream, int] = {name: number for number, name in enumerate(get_args(Stream))}


def generator(seed: int, stream: Stream, step: int = 0) -> np.random.Generator:
    """The numpy generator of one step of one stream.

    Example:
        >>> a, b = generator(0, "data", 5), generator(0, "data", 5)
        >>> bool(a.integers(1000) == b.integers(1000))
        True
    """
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, _STREAMS[stream], step])))


def seed_torch(seed: int, stream: Stream, step: int = 0) -> None:
    """Set torch's global generators (all devices) to the start of one step of one stream.

    Example:
        >>> seed_torch(0, "noise", 5); a = torch.randn(())
        >>> seed_torch(0, "noise", 5); bool(a == torch.randn(()))
        True
    """
    state = np.random.SeedSequence([seed, _STREAMS[stream], step]).generate_state(1, np.uint64)
    if torch.accelerator.is_available():
        torch.manual_seed(int(state[0]))
    else:  # as manual_seed does, without spending half a millisecond on devices that do not exist
        torch.default_generator.manual_seed(int(state[0]))
