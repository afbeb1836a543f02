from typing import Any

from unweave.metrics import Score
from unweave.reports.narrative import Subject, findings, rows, verdict


def geometry(value: float, **constants: Any) -> Score:
    return Score("geometry", value, constants={"unfolded": 1.0, "tilt": 0.0, **constants})


def subject(
    label: str, shape: float, gap: float, nll: float = 50.0, turned: float | None = None, **extra: Any
) -> Subject:
    scores = {
        "geometry": geometry(shape, **{k: v for k, v in extra.items() if k in ("tilt", "unfolded")}),
        "mig": Score("mig", gap, gap - 0.01, gap + 0.01),
        "nll": Score("nll", nll, nll - 1, nll + 1, (None, None), False),
    }
    return Subject(label, scores, extra.get("steps", 100), turned, extra.get("status", "finished"))


def test_the_story_of_the_field_is_told_when_the_numbers_show_it() -> None:
    text = " ".join(
        findings(
            [
                subject("Deconv", 0.12, 0.09, nll=30, unfolded=0.6),
                subject("Broadcast", 0.95, 0.13, nll=52, turned=0.71, tilt=33.0),
            ]
        )
    )
    assert "Broadcast keeps the shape of the data" in text
    assert "(geometry 0.95" in text
    assert "Deconv does not get there (0.12)" in text
    assert "Deconv folds the plane: 40%" in text
    assert "MIG hardly tells them apart: 0.09 (Deconv) and 0.13 (Broadcast)" in text
    assert "turned by 33°" in text
    assert "MIG goes from 0.13 to 0.71" in text
    assert "Broadcast has the better geometry but the worse pictures" in text


def test_nothing_is_claimed_that_the_numbers_do_not_show() -> None:
    text = " ".join(findings([subject("A", 0.93, 0.5), subject("B", 0.95, 0.8)]))
    assert "cannot be told apart" in text
    assert "keeps the shape" not in text
    assert "folds" not in text
    assert "rotation" not in text
    assert "MIG ranks B first" in text
    assert "pictures" not in text
    weak = " ".join(findings([subject("A", 0.2, 0.1), subject("B", 0.45, 0.1)]))
    assert "B comes closer" in weak
    assert "keeps the shape" not in weak
    assert "No model here lays the plane out well" in weak


def test_rotation_is_blamed_only_if_turning_back_helps() -> None:
    for turned in (None, 0.15):
        text = " ".join(
            findings([subject("A", 0.2, 0.1), subject("B", 0.95, 0.13, turned=turned, tilt=33.0)])
        )
        assert "rotation" not in text


def test_winner_reverses_with_the_numbers() -> None:
    text = " ".join(findings([subject("Deconv", 0.95, 0.4, nll=30), subject("Broadcast", 0.3, 0.1, nll=52)]))
    assert "Deconv keeps the shape" in text
    assert "MIG ranks Deconv first" in text
    assert "Deconv has the better geometry and the better pictures" in text


def test_caveats() -> None:
    told = findings(
        [subject("A", 0.9, 0.1, steps=100), subject("B", 0.9, 0.1, steps=5000, status="diverged")]
    )
    assert any("100 (A) and 5,000 (B)" in sentence for sentence in told)
    assert any("B is not finished (diverged)" in sentence for sentence in told)


def test_shared_latents_explain_a_low_mig() -> None:
    gap = Score("mig", 0.1, constants={"mutual_information": [[1.0, 0.0], [0.9, 0.5], [0.0, 0.5]]})
    used = Score("latents_used", 3.0, range=(0.0, 3.0))
    scores = {"geometry": geometry(0.95), "mig": gap, "latents_used": used}
    text = verdict(scores, ("x", "y"), 3)
    assert "3.0 latents share what 2 factors need" in text
    assert "knows 95% as much" in text  # (0.9 / 1 + 0.5 / 0.5) / 2
    told = findings([Subject("A", scores, 1), Subject("B", {**scores, "geometry": geometry(0.1)}, 1)])
    assert sum("3.0 latents share" in sentence for sentence in told) == 1


def test_verdicts() -> None:
    assert "folds the plane of x and y" in verdict({"geometry": geometry(0.3, unfolded=0.6)}, ("x", "y"), 5)
    assert "distorted copy" in verdict({"geometry": geometry(0.7)}, ("x", "y"), 5)
    assert "do not have latents of their own (MIG 0.05)" in verdict({"mig": Score("mig", 0.05)}, None, 5)
    assert "Factors have latents of their own" in verdict({"mig": Score("mig", 0.7)}, None, 5)
    own = verdict({"latents_used": Score("latents_used", 3.2), "nll": Score("nll", 41.26)}, None, 12)
    assert own == "The code uses 3.2 of 12 latents. Rebuilding an image costs 41.3 nats."
    assert verdict({}, None, 5) == "This run has not been scored yet."


def test_table_marks_the_best_only_beyond_its_interval() -> None:
    low, high = Score("mig", 0.3, 0.2, 0.55), Score("mig", 0.6, 0.5, 0.7)
    assert [cell[2] for cell in rows([{"mig": low}, {"mig": high}])[0].cells] == [False, False]
    cheap = Score("nll", 10.0, 9.0, 11.0, (None, None), False)
    dear = Score("nll", 20.0, 19.0, 21.0, (None, None), False)
    assert [cell[2] for cell in rows([{"nll": dear}, {"nll": cheap}])[0].cells] == [False, True]
    assert [cell[2] for cell in rows([{"nll": cheap}])[0].cells] == [False]


def test_table_shows_parts_of_geometry_and_unknown_scores() -> None:
    table = rows(
        [{"brand_new": Score("brand_new", 0.5), "geometry": geometry(0.9, tilt=12.4, held_out=-0.5)}]
    )
    assert [row.label for row in table] == ["geometry", "unfolded", "tilt", "held-out region", "brand new"]
    assert table[2].cells == (("12°", "", False),)
    assert table[3].cells[0][0] == "−0.500"
