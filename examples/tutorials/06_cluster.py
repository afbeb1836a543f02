# %% [markdown]
# # A study on a cluster
#
# The same study file goes to one machine, to a Ray cluster or to SLURM; only a flag differs. Here it runs on this machine; the commands for the others follow.

# %%
import shlex
from pathlib import Path

from unweave.cli import main


def terminal(command: str) -> None:
    """Run a command of unweave as typed in a terminal."""
    main(shlex.split(command)[1:])


Path("study.yaml").write_text("""\
title: How much beta?
base: {data: circles, data.size: 16, encoder: MLP, encoder.hidden: [32], decoder: MLP, decoder.hidden: [32], latents: 2, steps: 40, batch_size: 16}
grid:
  objective.beta: [1, 4]
seeds: 2
target: mig
""")
terminal("unweave sweep study.yaml --dry-run --out tutorial/betas")

# %% [markdown]
# `--dry-run` says how many runs there are and how long they take. On a machine with sixteen cores that is divided by sixteen; runs use one core each.

# %%
terminal("unweave sweep study.yaml --executor inline --out tutorial/betas --quiet")

# %% [markdown]
# ## Ray: three machines
#
# `examples/cluster/ray.yaml` describes one head and two workers that share a folder. Put your addresses in, then:
#
# ```sh
# pip install 'unweave[cluster]'
# ray up examples/cluster/ray.yaml
# ray exec examples/cluster/ray.yaml 'cd /shared && unweave sweep study.yaml --executor ray --address auto --out /shared/betas'
# ```
#
# Without a cluster file, on any machines that see each other and share a folder:
#
# ```sh
# ray start --head --port 6379                       # on the first
# ray start --address first:6379                     # on the others
# unweave sweep study.yaml --executor ray --address first:6379 --out /shared/betas
# ```
#
# `unweave sweep study.yaml --executor ray` without an address starts a cluster on this machine while it lasts.

# %%
print(Path("examples/cluster/ray.yaml").read_text())

# %% [markdown]
# ## SLURM
#
# ```sh
# unweave sweep study.yaml --executor slurm --slurm-partition cpu --slurm-time 4h --out /shared/betas
# ```
#
# gives the runs to the queue (see `docs/sweeps.md`). Where jobs are written by hand, `examples/cluster/study.sbatch` is one: every task of the array executes the
# same sweep, and the locks in the runs' folders divide the work among them.

# %%
print(Path("examples/cluster/study.sbatch").read_text())

# %% [markdown]
# ## When something dies
#
# Pull the plug of a machine: its runs go on elsewhere from their last checkpoint, and end with the same weights, bit for bit. The same command
# again executes what is missing, and nothing else:

# %%
terminal("unweave sweep study.yaml --executor inline --out tutorial/betas --quiet")
terminal("unweave runs list --root tutorial/betas --columns objective.beta,seed,status,mig")
