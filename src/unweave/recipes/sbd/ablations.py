"""Tables 5 to 10 of SBD: one number of the decoder is varied."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unweave.plots.style import FAINT, PALETTE, new_figure
from unweave.recipes.claims import Finding, correlated
from unweave.recipes.recipe import Conclusion, Job, Scale
from unweave.recipes.sbd.models import broadcast
from unweave.recipes.sbd.published import Row
from unweave.recipes.sbd.score_table import COLUMNS, column, score_rows
from unweave.recipes.shortfall import shortfall
from unweave.runs.config import Config

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DRAWN = ("elbo", "kl", "latents_used", "mig")


@dataclass(frozen=True)
class Ablation:
    """A table with a row for each value of a number of the decoder.

    Args:
        published: the paper's rows, by that number.
        noun: what is counted, as in ``1 layer``; it names the rows.
        varied: what the number is, in a finding.
        axis: what the number is, below the picture.
        decoder: the decoder with such a number, at a scale.
        number: reads it from the config of a run.
        smoke: two of the numbers; one of them that of figure 2, whose runs it shares.
        trends: scores that rise with the number, +1, or fall, -1, as the paper claims.
        more: further findings.
    """

    published: Mapping[int, Row]
    noun: str
    varied: str
    axis: str
    decoder: Callable[[Scale, int], dict[str, Any]]
    number: Callable[[Config], int]
    smoke: tuple[int, int]
    trends: Mapping[str, int]
    more: Callable[[Job], list[Finding]] = lambda _: []

    def label(self, number: int) -> str:
        """The name of a row."""
        return f"{number} {self.noun}{'' if number == 1 else 's'}"

    def variants(self, scale: Scale) -> dict[str, Any]:
        """What each row of the table trains."""
        numbers = self.smoke if scale == "smoke" else self.published
        return {self.label(number): {"decoder": self.decoder(scale, number)} for number in numbers}

    def numbers(self, job: Job) -> dict[str, int]:
        """The number of each variant, read from its runs."""
        return {variant: self.number(job.runs(variant)[0].config) for variant in job.variants}

    def trend(self, job: Job, score: str, sign: int) -> Finding:
        """A score rises, or falls with ``sign=-1``, with the number; every replica is a point."""
        values = {variant: column(job, variant, score) for variant in job.variants}
        numbers = [np.full(len(values[variant]), number) for variant, number in self.numbers(job).items()]
        return correlated(
            f"{COLUMNS[score]} with {self.varied}",
            np.concatenate(numbers),
            np.concatenate(list(values.values())),
            sign=sign,
        )

    def conclude(self, job: Job) -> Conclusion:
        """Rows and picture of the table, and the trends that the paper claims."""
        job.note(shortfall(job))
        findings = [self.trend(job, score, sign) for score, sign in self.trends.items()]
        findings += self.more(job)
        published = {self.label(number): row for number, row in self.published.items()}
        return Conclusion(score_rows(job, published), findings, {"table": self.picture(job)})

    def picture(self, job: Job) -> "Figure":
        """Columns of the table against the number: every replica, the means, and the published means."""
        with new_figure(2.5 * len(_DRAWN), 2.6) as figure:
            for axes, score in zip(figure.subplots(1, len(_DRAWN)), _DRAWN, strict=True):
                self._draw_column(axes, job, score)
            figure.legend(*axes.get_legend_handles_labels(), loc="outside lower right", ncols=2)
        return figure

    def _draw_column(self, axes: "Axes", job: Job, score: str) -> None:
        numbers = list(self.numbers(job).values())
        values = [column(job, variant, score) for variant in job.variants]
        for number, each in zip(numbers, values, strict=True):
            where, colour = [number] * len(each), PALETTE[1]
            axes.plot(where, each, "o", markersize=3, alpha=0.4, color=colour, markeredgewidth=0)
        axes.plot(numbers, [each.mean() for each in values], "o-", color=PALETTE[1], label="ours")
        cells = {number: row[list(COLUMNS).index(score)] for number, row in self.published.items()}
        means = {number: cell[0] for number, cell in cells.items() if cell is not None}
        axes.plot(list(means), list(means.values()), "s--", color=FAINT, label="published")
        axes.set(title=COLUMNS[score], xlabel=self.axis)
        axes.set_xticks(list(self.published))


def linear_layers_before_broadcast(published: Mapping[int, Row], trends: Mapping[str, int]) -> Ablation:
    """The ablation of SBD tables 7 and 9, which differ in their data and in what is claimed of them."""
    return Ablation(
        published=published,
        noun="layer",
        varied="linear layers",
        axis="linear layers",
        decoder=lambda scale, linear: broadcast(scale, linear=linear),
        number=lambda config: len(config.decoder.options["mlp"]),
        smoke=(0, 3),
        trends=trends,
    )
