# %% [markdown]
# # Reproducing a figure
#
# Every figure and table of the five papers has a command. `unweave reproduce list` names all of them; here are those of one paper.

# %%
import shlex
from pathlib import Path

from unweave.cli import main


def terminal(command: str) -> None:
    """Run a command of unweave as typed in a terminal."""
    main(shlex.split(command)[1:])


terminal("unweave reproduce list dec")

# %% [markdown]
# ## What would it take?
#
# A result has scales: `paper` is what the paper did, `small` what two cores can do in an evening, `smoke` only shows that everything works. `--dry-run` says what would be
# trained and how long that takes, and trains nothing:

# %%
terminal("unweave reproduce dec-theorem2 --dry-run")

# %% [markdown]
# ## Do it
#
# This one is a theorem, so it is computed, not trained: turn the encoder by a rotation and the decoder back. Under an isotropic prior nothing changes
# (DEC theorem 2); under each other prior it does.

# %%
terminal("unweave reproduce dec-theorem2 --scale smoke --out tutorial/reproduce --quiet")

# %%
from PIL import Image

pictures = sorted(Path("tutorial/reproduce").rglob("*.png"))
print([picture.name for picture in pictures])
Image.open(pictures[0])

# %% [markdown]
# ## How to read it
#
# The verdict is computed from the values of every seed, and is one of: *agrees*, *same direction*, *by construction*, *does not show at this scale*,
# *opposite*. A page beside it has our number next to the published one. `unweave reproduce check` computes all published verdicts again from their stored values.
#
# ## Change it
#
# Your own idea is an option away, for example the same figure with another prior or decoder:
#
# ```sh
# unweave reproduce fac-fig5 --prior isa
# unweave reproduce rec-fig11 --decoder SpatialBroadcast
# unweave reproduce sbd-fig4 --first-seed 100
# ```
