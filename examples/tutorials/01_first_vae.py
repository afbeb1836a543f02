# %% [markdown]
# # Your first VAE, and what its page says
#
# Circles at random places: two factors, x and y. A VAE with three latents sees the images only, never the factors. Does it find them?

# %%
import numpy as np

from unweave import data

circles = data.Circles(size=32)
batch = circles.sample(8, np.random.default_rng(0))
print(circles.space.names, batch.images.shape, batch.factors[0].round(2))

# %%
from PIL import Image

row = np.concatenate(list(batch.images), axis=2).transpose(1, 2, 0)
Image.fromarray(row).resize((8 * 96, 96), Image.Resampling.NEAREST)

# %% [markdown]
# ## Train
#
# Every command of the terminal is also a function. What you would type as `unweave train circles ...` is here:

# %%
import shlex

from unweave.cli import main


def terminal(command: str) -> None:
    """Run a command of unweave as typed in a terminal."""
    main(shlex.split(command)[1:])


terminal(
    "unweave train circles data.size=32 decoder=SpatialBroadcast latents=3 "
    "steps=300 batch_size=16 --out tutorial/first --quiet"
)

# %% [markdown]
# ## What the page says
#
# The run is a folder, and `tutorial/first/report.html` is its page. First comes the verdict, in a sentence; a model that has not learned has no
# scores worth reading. Then the scores, and where one can be given, their 95 % intervals:

# %%
import unweave

run = unweave.Run("tutorial/first")
for name, score in run.scores.items():
    interval = "" if score.get("low") is None else f"   {score['low']:.3f} to {score['high']:.3f}"
    print(f"{name:18} {score['value']:9.3f}{interval}")

# %% [markdown]
# * `elbo`, `nll`, `kl` are in nats per image. `kl` is what the code holds about an image; `nll` what it lacks.
# * `latents_used` counts latents whose posterior is narrow. Two factors need two: the third should rest.
# * `mig` is near 1 only if x has one latent and y another. If the plane is turned, it is near 0, though the map is perfect: so look at `geometry`, which does
#   not mind turns, and at the plane itself.
#
# ## The plane
#
# A grid of places, and where the encoder puts it, in the two most informative latents:

# %%
import matplotlib.pyplot as plt

from unweave import metrics

model = unweave.load("tutorial/first")
x, y = np.meshgrid(np.linspace(0.2, 0.8, 13), np.linspace(0.2, 0.8, 13))
places = np.stack([x.ravel(), y.ravel()], 1)
codes = model.encode(circles.images(places))
first, second = metrics.informative_latents(codes.scales)
figure, panel = plt.subplots(figsize=(4, 4))
panel.scatter(codes.means[:, first], codes.means[:, second], c=places[:, 0], s=18)
panel.set(xlabel=f"z{first}", ylabel=f"z{second}", aspect="equal")
score = metrics.geometry_score(codes.means[:, [first, second]], places)
print(f"geometry {score.value:.2f}: 1 is a copy of the plane, turned or not")

# %% [markdown]
# ## A page to touch
#
# `unweave explore` writes one HTML file with the model in it. Drag the point, move the sliders: [explore-circles.html](explore-circles.html).

# %%
terminal("unweave explore tutorial/first --out explore-circles.html --quiet")

# %% [markdown]
# **Next:** 300 steps are few. Say `unweave train circles` without `steps` for the recommended training, and compare the pages.
