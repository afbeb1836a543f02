"""The tests of the repaired protocols, run against the source of the commit before their repair: each must fail there.

    python benchmarks/repaired.py                  # all items; a few minutes
    python benchmarks/repaired.py --item 4         # one of them
    python benchmarks/repaired.py --commit ca309bd --item 8

The source is checked out into a scratch folder, and today's tests import it. A name that it does not have fails when
it is used (``missing_names.py``), so that each test fails for itself. A test that passes there proves nothing about
its repair: it is printed, and the exit code is 1.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "repaired.json"
BEFORE = "f6d0d0d"
"""The commit before the first of these repairs."""

TESTS = {
    "1 DEC": [
        "data/test_pinwheel.py::test_the_defaults_are_the_data_of_the_authors",
        "recipes/test_dec.py::test_table_1_is_the_printed_one",
        "recipes/test_dec.py::test_figure_2_top_has_the_protocol_of_the_paper",
        "recipes/test_dec.py::test_figure_4_has_the_protocol_of_the_paper",
        "recipes/test_dec.py::test_the_model_of_figure_3_is_a_configuration",
        "recipes/test_dec.py::test_the_kernel_is_the_one_of_the_run",
        "priors/test_options.py::test_defaults_are_those_of_the_papers[AnisotropicNormal]",
        "objectives/test_exclusive_kl.py::test_the_estimate_of_the_batch_is_equation_10",
    ],
    "2 posteriors": [
        "test_posteriors.py::test_the_full_normal_has_any_covariance",
        "test_posteriors.py::test_one_width_for_all_latents",
        "test_posteriors.py::test_the_density_of_ball_and_normal",
    ],
    "3 ISA": [
        "recipes/test_isa.py::test_sprites_have_the_protocol_of_the_paper",
        "recipes/test_isa.py::test_faces_and_cars_have_the_protocol_of_the_paper",
        "recipes/test_isa.py::test_the_upper_half_is_compared_with_the_upper_half",
        "recipes/test_isa.py::test_the_mode_of_a_histogram",
        "priors/test_options.py::test_kappa_is_the_measure_of_kurtosis",
        "priors/test_options.py::test_other_laws_of_the_radius",
    ],
    "4 FAC": [
        "recipes/test_protocols.py::test_figure_33_trains_lambda_1",
        "recipes/test_protocols.py::test_noise_and_rates_of_figure_8_are_tuned",
        "recipes/test_protocols.py::test_figure_23_has_stages_as_figure_4_has",
        "recipes/test_protocols.py::test_gans_are_read_before_they_degenerate",
        "recipes/test_protocols.py::test_figures_quote_the_printed_metric_of_higgins",
        "recipes/test_protocols.py::test_appendix_e_takes_all_images_in_the_paper_s_protocol",
        "gan/test_infogan.py::test_q_is_trained_in_the_step_that_is_chosen",
        "metrics/test_metric_options.py::test_gini_s_variance_is_taken_for_the_codes_that_are_classes",
        "metrics/test_metric_options.py::test_a_dead_code_under_a_uniform_prior_is_pruned_by_the_prior_s_own_variance",
        "metrics/test_metric_options.py::test_the_printed_metric_of_higgins_trains_adagrad",
    ],
    "5 SBD": [
        "recipes/test_protocols.py::test_shuffles_differ_with_the_seed",
        "recipes/test_protocols.py::test_all_networks_of_sbd_have_truncated_normal_weights_critics_too",
        "recipes/test_protocols.py::test_sbd_takes_mig_by_sampling_in_its_protocol",
        "recipes/test_protocols.py::test_circles_of_the_paper_are_500_000_images",
        "recipes/test_protocols.py::test_the_hull_of_one_deviation_and_the_mark",
        "data/test_circles.py::test_the_size_of_a_circle_may_be_a_factor",
    ],
    "6 REC": [
        "recipes/test_protocols.py::test_findings_of_rec_have_dci_beside_mig_and_maxima",
        "recipes/test_protocols.py::test_the_order_of_factors_and_the_text_of_rec",
        "recipes/test_protocols.py::test_any_augmentation_can_be_named_on_the_command_line",
    ],
    "7 data": [
        "recipes/test_dry_run.py::test_the_original_file_is_used_where_it_is",
        "recipes/test_dry_run.py::test_reading_the_original_file_is_no_deviation",
        "recipes/test_dry_run.py::test_rows_name_what_stands_for_what",
    ],
    "8 attributions": [
        "recipes/test_shortfall.py::test_steps_that_the_paper_does_not_give_are_ours",
        "recipes/test_shortfall.py::test_seeds_are_those_of_the_caption[fac-fig37-5]",
        "recipes/test_shortfall.py::test_the_kept_result_of_figure_37_says_five_seeds",
        "recipes/test_shortfall.py::test_experiments_are_in_section_6_of_fac",
    ],
    "9 ids and numbers": [
        "recipes/test_dec.py::test_every_result_of_the_paper_is_there",
        "recipes/test_isa.py::test_every_result_of_the_paper_is_there",
        "recipes/test_rec.py::test_every_result_of_the_paper_has_a_recipe",
        "recipes/test_sbd.py::test_every_figure_and_table_has_a_recipe",
        "recipes/test_protocols.py::test_published_numbers_are_rows",
    ],
    "11 options": [
        "metrics/test_metric_options.py::test_every_parameter_of_every_metric_is_an_option",
        "recipes/test_theory.py::test_every_parameter_is_set_by_a_word",
    ],
}


def outcomes(source: Path, tests: list[str]) -> dict[str, list[str]]:
    """What became of each test, by its name without parameters unless these were asked for; by the given source."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(source / "src"), str(Path(__file__).parent)]),
        "OMP_NUM_THREADS": "1",
    }
    options = ["-p", "missing_names", "-p", "no:cacheprovider", "-q", "--tb=no", "-rA", "--timeout=300"]
    command = [sys.executable, "-m", "pytest", *options, *(f"tests/{test}" for test in tests)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    found: dict[str, list[str]] = {test: [] for test in tests}
    for word, name in re.findall(r"^(PASSED|FAILED|ERROR) tests/(.*?)(?: - .*)?$", done.stdout, re.MULTILINE):
        for test in tests:
            if name == test or name.startswith(f"{test}["):
                found[test].append(word.lower())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", default=BEFORE)
    parser.add_argument("--item", help="the first word of one item, as in 4")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    items = {name: tests for name, tests in TESTS.items() if given.item in (None, name.split()[0])}
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "before"
        archive = subprocess.run(
            ["git", "archive", given.commit, "src"], cwd=ROOT, capture_output=True, check=True
        )
        source.mkdir()
        subprocess.run(["tar", "-x", "-C", str(source)], input=archive.stdout, check=True)
        found = {name: outcomes(source, tests) for name, tests in items.items()}
    if given.json:
        given.json.write_text(json.dumps({"commit": given.commit, "items": found}, indent=1) + "\n")
    useless = []
    for name, results in found.items():
        cases = [case for each in results.values() for case in each]
        useless += [test for test, each in results.items() if not each or "passed" in each]
        print(
            f"{name:20} {len(results):3} tests, {len(cases):3} cases, {sum(case != 'passed' for case in cases):3} fail"
        )
    for test in useless:
        print(f"passes, or was not found: tests/{test}")
    sys.exit(bool(useless))


if __name__ == "__main__":
    main()
