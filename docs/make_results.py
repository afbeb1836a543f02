# ruff: noqa: E501
"""Write docs/results: one page for each paper, from the results that come with unweave.

python docs/make_results.py
"""

import tomllib
from collections import Counter
from pathlib import Path

from unweave.papers import linked
from unweave.recipes.catalogue import PAPERS, RECIPES
from unweave.recipes.published_results import published_results
from unweave.recipes.report import report_page
from unweave.recipes.reproduce import chance
from unweave.recipes.result_pages import cell, is_older, paper_page

FOLDER = Path(__file__).parent / "results"

INDEX = """\
# Published results, reproduced

Every figure and table of the five papers has a command, `unweave reproduce ID`; `unweave reproduce list` shows all {count} of them. Each
runs at one of three scales: `smoke` tests that it runs, `small` is what two cores show in minutes (fewer steps, seeds or pixels than the
paper, stated beside each result), `paper` is the paper's own protocol, for a cluster. `python docs/make_results.py` writes this page and
those of the papers from the results at the small scale; nothing is written by hand but the opinions in [the report](report.md): what holds, what holds in part, what does not. Pages: {pages}.

## How a verdict is computed

A recipe states each claim of its figure as a number: a difference of means, a rank correlation, a proportion, or an exact number. Where the
number is random, the claim shows if a two-sided test gives p < 0.05 with the right sign (Welch's t between groups of seeds, Student's t for
pairs, a permutation test for rank correlations, a binomial test for proportions).

- **agrees**: it shows, the published number lies inside our 95 % interval, and that interval is at most half as wide as the published effect
  (a wide interval contains everything); for exact numbers, within the tolerance that the recipe states.
- **same direction**: it shows, but the published number differs, our interval is too wide to tell, or there is none.
- **by construction**: an identity, or a value that the code solves for. It checks the code and is no evidence for the claim.
- **does not show at this scale**: neither direction is sure. *Too few runs* beside it: with these runs the published effect (where none is
  published, two standard deviations between seeds) would have shown with less than 80 % power. A claim that does not show in a hundredth of the
  steps is not thereby refuted.
- **opposite**: a significant effect against the claim.

Several tests of one result are corrected for their number by Holm's method, and the corrected p decides; `unweave reproduce check` prints both, and p
corrected over all tests of a paper. A result holds the values of every seed: `unweave reproduce check` computes every verdict and p again from them,
without training, and names results whose runs are not those planned today. {older} Fresh replicas: `unweave reproduce ID --first-seed 100 [--seeds 5]`.

The verdict on a recipe is the verdict on its weakest claim. {tally} The minutes were measured on a machine with two cores on which up to ten
runs were active at once: alone, a run takes a fifth to a half of them.

| id | what | verdict | ours | published | p |
|---|---|---|---|---|---|
"""


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    everything = {
        name: known.result for name, known in published_results().items() if known.result is not None
    }
    own = [result for result in everything.values() if not result.changes]
    before = [result for result in own if is_older(result)]
    older = (
        f"{len(before)} of {len(own)} results were made before that rule and hold no such values: they are marked *older rule* (p not corrected, an "
        "interval of any width agrees) until they are run again."
        if before
        else ""
    )
    counted = Counter(result.verdict for result in own)
    tally = f"Of {len(own)} results, " + ", ".join(f"{n}: {verdict}" for verdict, n in counted.items()) + "."
    lines = []
    for paper in PAPERS:
        ids = [recipe.id for recipe in RECIPES.values() if recipe.paper == paper]
        chosen = [result for result in everything.values() if result.id in ids]
        for result in sorted(chosen, key=lambda result: (ids.index(result.id), result.changes)):
            first = result.findings[0]
            ours, published = (
                "" if first[key] is None else f"{first[key]:.4g}" for key in ("value", "published")
            )
            p = "exact" if first["p"] is None else chance(first["p"])
            anchor = result.name.replace("+", "").replace("=", "").replace(".", "").lower()
            lines.append(
                f"| [{result.name}]({paper}.md#{anchor}) | {cell(result.title)} | {result.verdict}{' (older rule)' if is_older(result) else ''} | "
                f"{ours} | "
                f"{published} | {p} |"
            )
        page = paper_page(paper, PAPERS[paper], [RECIPES[name] for name in ids], FOLDER)
        (FOLDER / f"{paper}.md").write_text(linked(page))
    pages = ", ".join(f"[{paper.upper()}]({paper}.md)" for paper in PAPERS)
    text = INDEX.format(count=len(RECIPES), pages=pages, tally=tally, older=older) + "\n".join(lines) + "\n"
    (FOLDER / "README.md").write_text(linked(text))
    opinions = tomllib.loads((FOLDER / "opinions.toml").read_text())
    report = report_page(PAPERS, list(RECIPES.values()), {result.name: result for result in own}, opinions)
    (FOLDER / "report.md").write_text(linked(report))


if __name__ == "__main__":
    main()
