# %% [markdown]
# # Your own photographs
#
# A folder of pictures as people have them: many sizes, grey and colour, a file that is broken, a note. A script makes one here; take your own instead.

# %%
import shlex
import subprocess
import sys

from unweave.cli import main


def terminal(command: str) -> None:
    """Run a command of unweave as typed in a terminal."""
    main(shlex.split(command)[1:])


making = [sys.executable, "examples/make_photos.py", "photos"]
print(subprocess.run(making, check=True, capture_output=True, text=True).stdout)

# %% [markdown]
# ## Train
#
# The folder is the data set. `--skip-bad` goes on without what cannot be read; pictures are cropped to their central square and resized.
# `labels.csv` in the folder, if there is one, gives factors, and with them scores.

# %%
terminal(
    "unweave train photos data.size=32 latents=4 steps=150 likelihood=MSE objective.beta=2 "
    "optimizer=Adam learning_rate=1e-3 batch_size=32 --skip-bad --out tutorial/photos --quiet"
)

# %% [markdown]
# ## Use it
#
# The run can be used without the folder it was trained on. The codes of pictures, as a table:

# %%
from pathlib import Path

terminal("unweave encode tutorial/photos photos --skip-bad --out codes.csv --quiet")
print("\n".join(Path("codes.csv").read_text().splitlines()[:4]))

# %% [markdown]
# What the model makes of pictures (originals above), and what each latent does to one of them:

# %%
from PIL import Image

terminal("unweave reconstruct tutorial/photos photos --skip-bad --out reconstructions.png --quiet")
Image.open("reconstructions.png")

# %%
terminal("unweave traverse tutorial/photos photos/001-photo.jpg --out latents.png --quiet")
Image.open("latents.png")

# %% [markdown]
# 150 steps on 60 pictures find the light and little else. Some hundred pictures and the recommended training find more.
#
# ## A page, and other programs
#
# `explore` makes the page ([explore-photos.html](explore-photos.html)); drop a picture of yours on it. `unweave export tutorial/photos --format onnx` writes encoder
# and decoder for other programs.

# %%
terminal("unweave explore tutorial/photos --out explore-photos.html --quiet")
