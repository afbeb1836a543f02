"""The flags that say what a job of SLURM asks for."""

import click

_COUNT = click.IntRange(min=1)

slurm_flags = (
    click.option("--slurm-partition", help="SLURM partition [default: the cluster's]."),
    click.option(
        "--slurm-time",
        metavar="4h",
        help="Time limit of a SLURM job; a run that needs longer is saved and continues in the next one [default: 4h].",
    ),
    click.option("--slurm-cpus", type=_COUNT, help="CPUs of a SLURM job [default: 1]."),
    click.option("--slurm-gpus", type=_COUNT, help="GPUs of a SLURM job [default: none]."),
    click.option("--slurm-memory", metavar="4G", help="Memory of a SLURM job [default: the partition's]."),
    click.option("--slurm-account", help="Account that SLURM charges."),
    click.option("--slurm-parallel", type=_COUNT, help="SLURM jobs at a time [default: no limit]."),
    click.option(
        "--slurm-option",
        multiple=True,
        metavar="KEY=VALUE",
        help="Another option of sbatch, such as qos=long; can be repeated.",
    ),
)
