# %% [markdown]
# # Scores of codes from any program
#
# The metrics are functions on arrays: `codes` of shape `(n, latents)`, `factors` of shape `(n, factors)`. Where codes come from does not matter. Here: principal and
# independent components by scikit-learn, and a plain auto-encoder in PyTorch.

# %%
import numpy as np

from unweave import data, metrics

circles = data.Circles(size=16)
rng = np.random.default_rng(0)
factors = circles.evaluation(1500, rng=rng)
images = circles.images(factors)
pixels = images.reshape(len(images), -1) / 255  # images are bytes
print(pixels.shape, circles.space.names)

# %%
from sklearn.decomposition import PCA, FastICA

foreign = {
    "PCA": PCA(4, random_state=0).fit_transform(pixels),
    "FastICA": FastICA(4, random_state=0, max_iter=400, tol=1e-2).fit_transform(pixels),
}

# %%
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(pixels.shape[1], 128), nn.ReLU(), nn.Linear(128, 4))
decoder = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, pixels.shape[1]))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
tensor = torch.tensor(pixels, dtype=torch.float32)
for _ in range(300):
    batch = tensor[torch.randint(len(tensor), (64,))]
    loss = (decoder(encoder(batch)) - batch).square().sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
foreign["auto-encoder"] = encoder(tensor).detach().numpy()

# %% [markdown]
# ## One table
#
# Two numbers to compare with: the factors themselves, which is the best there is, and noise.

# %%
foreign["the factors"] = np.asarray(factors, dtype=float)
foreign["noise"] = rng.normal(size=(len(factors), 4))
names = ["mig", "mcc", "modularity", "hoyer"]
print(f"{'codes':14}" + "".join(f"{name:>24}" for name in names))
for kind, codes in foreign.items():
    scores = metrics.score_all(metrics.Encoded.of(codes, factors), names)
    cells = [scores[name] for name in names]
    shown = [
        f"{s.value:.2f}" + (f" ({s.low:.2f} to {s.high:.2f})" if s.low is not None else "") for s in cells
    ]
    print(f"{kind:14}" + "".join(f"{text:>24}" for text in shown))

# %% [markdown]
# MIG asks for one latent a factor, and none of the methods has it. MCC asks only for the best correlation, and that of PCA is high, since a component that tells left from right is nearly
# a place. The two questions differ, so the answers do. Hoyer sparsity is about the shape of codes and needs no factors.
#
# ## From files, in a terminal
#
# The same from an npz, or a CSV with named columns (`z0`, `z1`, ... are codes, all others factors):

# %%
import shlex

from unweave.cli import main

np.savez("codes.npz", codes=foreign["auto-encoder"], factors=factors)
main(shlex.split("score codes.npz --metrics mig,mcc"))

# %% [markdown]
# In a training loop of your own, `metrics.Accumulator` takes batches of tensors on any device:

# %%
accumulator = metrics.Accumulator(["mig", "mcc"])
for start in range(0, 1500, 500):
    part = slice(start, start + 500)
    accumulator.update(encoder(tensor[part]).detach(), factors[part])
print({name: round(score.value, 3) for name, score in accumulator.compute().items()})
