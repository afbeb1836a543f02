from typing import Any

from unweave.metrics import Score
from unweave.reports.narrative import ComparedRun, findings, headline, score_rows


def geometry(value: float, **constants: Any) -> Score:
    return Score("geometry", value, constants={"unfolded": 1.0, "tilt": 0.0, **constants})


def compared(
    label: str, shape: float, gap: float, nll: float = 50.0, rotated_mig: float | None = None, **extra: Any
) -> ComparedRun:
    scores = {
        "geometry": geometry(shape, **{k: v for k, v in extra.items() if k in ("tilt", "unfolded")}),
        "mig": Score("mig", gap, gap - 0.01, gap + 0.01),
        "nll": Score("nll", nll, nll - 1, nll + 1, (None, None), False),
    }
    return ComparedRun(label, scores, extra.get("steps", 100), rotated_mig, extra.get("status", "finished"))


def test_shape_folds_rotation_and_reconstructions_are_reported_if_the_scores_show_them() -> None:
    text = " ".join(
        findings(
            [
                compared("Deconv", 0.12, 0.09, nll=30, unfolded=0.6),
                compared("Broadcast", 0.95, 0.13, nll=52, rotated_mig=0.71, tilt=33.0),
            ]
        )
    )
    assert "Broadcast preserves the shape of the data" in text
    assert "(geometry 0.95" in text
    assert "Deconv does not (0.12)" in text
    assert "Deconv folds the plane: 40%" in text
    assert "MIG hardly distinguishes the models: 0.09 (Deconv) and 0.13 (Broadcast)" in text
    assert "rotated by 33°" in text
    assert "raises MIG from 0.13 to 0.71" in text
    assert "Broadcast has the better geometry but the worse reconstructions" in text


def test_nothing_is_claimed_that_the_scores_do_not_show() -> None:
    text = " ".join(findings([compared("A", 0.93, 0.5), compared("B", 0.95, 0.8)]))
    assert "The geometry scores do not distinguish the models" in text
    assert "preserves the shape" not in text
    assert "folds" not in text
    assert "rotation" not in text
    assert "MIG ranks B first" in text
    assert "better geometry" not in text
    weak = " ".join(findings([compared("A", 0.2, 0.1), compared("B", 0.45, 0.1)]))
    assert "B comes closer" in weak
    assert "preserves the shape" not in weak
    assert "No model represents the plane well" in weak


def test_rotation_is_reported_only_if_rotating_back_helps() -> None:
    for rotated_mig in (None, 0.15):
        text = " ".join(
            findings([compared("A", 0.2, 0.1), compared("B", 0.95, 0.13, rotated_mig=rotated_mig, tilt=33.0)])
        )
        assert "rotation" not in text


def test_winner_reverses_with_the_numbers() -> None:
    text = " ".join(
        findings([compared("Deconv", 0.95, 0.4, nll=30), compared("Broadcast", 0.3, 0.1, nll=52)])
    )
    assert "Deconv preserves the shape" in text
    assert "MIG ranks Deconv first" in text
    assert "Deconv has the better geometry and the better reconstructions" in text


def test_caveats() -> None:
    sentences = findings(
        [compared("A", 0.9, 0.1, steps=100), compared("B", 0.9, 0.1, steps=5000, status="diverged")]
    )
    assert any("100 (A) and 5,000 (B)" in sentence for sentence in sentences)
    assert any("B is not finished (diverged)" in sentence for sentence in sentences)


def test_shared_latents_explain_a_low_mig() -> None:
    gap = Score("mig", 0.1, constants={"mutual_information": [[1.0, 0.0], [0.9, 0.5], [0.0, 0.5]]})
    used = Score("latents_used", 3.0, range=(0.0, 3.0))
    scores = {"geometry": geometry(0.95), "mig": gap, "latents_used": used}
    text = headline(scores, ("x", "y"), 3)
    assert "3.0 latents encode 2 factors" in text
    assert "holds 95% as much information" in text  # (0.9 / 1 + 0.5 / 0.5) / 2
    sentences = findings(
        [ComparedRun("A", scores, 1), ComparedRun("B", {**scores, "geometry": geometry(0.1)}, 1)]
    )
    assert sum("3.0 latents encode" in sentence for sentence in sentences) == 1
    scores["geometry"] = geometry(0.95, tilt=33.0)
    turned = headline(scores, ("x", "y"), 3)
    assert "rotated" not in turned, (
        "turned back, the two would still share with the third: so says the comparison"
    )
    assert "latents encode 2 factors" in turned
    scores["latents_used"] = Score("latents_used", 2.0)
    assert "the copy is rotated by 33°" in headline(scores, ("x", "y"), 3)


def test_headlines() -> None:
    assert "folds the plane of x and y" in headline({"geometry": geometry(0.3, unfolded=0.6)}, ("x", "y"), 5)
    assert "distorted copy" in headline({"geometry": geometry(0.7)}, ("x", "y"), 5)
    assert "are not encoded in latents of their own (MIG 0.05)" in headline(
        {"mig": Score("mig", 0.05)}, None, 5
    )
    assert "Factors are encoded in latents of their own" in headline({"mig": Score("mig", 0.7)}, None, 5)
    own = headline({"latents_used": Score("latents_used", 3.2), "nll": Score("nll", 41.26)}, None, 12)
    assert own == "The code uses 3.2 of 12 latents. Reconstructing an image costs 41.3 nats."
    assert headline({}, None, 5) == "This run has not been scored yet."


def test_table_marks_the_best_only_beyond_its_interval() -> None:
    low, high = Score("mig", 0.3, 0.2, 0.55), Score("mig", 0.6, 0.5, 0.7)
    assert [cell[2] for cell in score_rows([{"mig": low}, {"mig": high}])[0].cells] == [False, False]
    cheap = Score("nll", 10.0, 9.0, 11.0, (None, None), False)
    dear = Score("nll", 20.0, 19.0, 21.0, (None, None), False)
    assert [cell[2] for cell in score_rows([{"nll": dear}, {"nll": cheap}])[0].cells] == [False, True]
    assert [cell[2] for cell in score_rows([{"nll": cheap}])[0].cells] == [False]


def test_table_shows_parts_of_geometry_and_unknown_scores() -> None:
    table = score_rows(
        [{"brand_new": Score("brand_new", 0.5), "geometry": geometry(0.9, tilt=12.4, held_out=-0.5)}]
    )
    assert [row.label for row in table] == ["geometry", "unfolded", "tilt", "held-out region", "brand new"]
    assert table[2].cells == (("12°", "", False),)
    assert table[3].cells[0][0] == "−0.500"
