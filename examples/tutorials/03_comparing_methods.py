# %% [markdown]
# # Comparing methods over seeds, and reading intervals
#
# One run proves nothing: another seed may turn the plane. A *study* names what varies and over which seeds.

# %%
import shlex
from pathlib import Path

from unweave.cli import main


def terminal(command: str) -> None:
    """Run a command of unweave as typed in a terminal."""
    main(shlex.split(command)[1:])


Path("study.yaml").write_text("""\
title: Which decoder finds the plane?
base: {data: circles, data.size: 32, latents: 2, steps: 80, batch_size: 16, learning_rate: 2e-3}
variants:
  Deconv: {decoder: Deconv}
  Spatial Broadcast: {decoder: SpatialBroadcast}
seeds: 3
metrics: [geometry]
target: geometry
""")
terminal("unweave sweep study.yaml --executor inline --out tutorial/study --quiet")

# %% [markdown]
# Without `--executor inline` the runs take all cores. Stop it, and the same command goes on; finished runs are never repeated.
#
# ## What came out
#
# `tutorial/study/report.html` is the page. It begins with the question and the answer. The runs can be found by what they are:

# %%
terminal("unweave runs list --root tutorial/study --columns decoder,seed,geometry,mig,nll --sort -geometry")

# %% [markdown]
# ## Two kinds of intervals
#
# *Within* a run: the interval of a score says how far it may be from its value on infinitely many codes. It says nothing about other seeds.
#
# *Between* runs: the interval of a mean over seeds is Student's, from three seeds on. It says how far the mean may be from that of all seeds.

# %%
import numpy as np
from scipy import stats

from unweave.runs import RunIndex

for decoder in ("Deconv", "SpatialBroadcast"):
    runs = RunIndex("tutorial/study").find([f"decoder={decoder}"])
    values = np.array([run["geometry"] for run in runs])
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    print(
        f"{decoder:17} mean {values.mean():.2f}, 95 % interval {values.mean() - half:.2f} to {values.mean() + half:.2f}"
    )

# %% [markdown]
# With three seeds the interval is wide: Student's factor is 4.3 there, 2.8 with five, 2.3 with ten. If two intervals overlap, that is no proof that there is no difference:
# the page compares every pair of variants directly (Welch's test, adjusted for the number of pairs, and the exact rank-sum test).
#
# ## Without labels
#
# Which seed is the good one, if no factors are known? The one that agrees with the others (UDR):

# %%
folders = sorted(str(path.parent) for path in Path("tutorial/study").rglob("scores.json"))
terminal("unweave udr " + " ".join(folders[:3]))
