"""Pages about runs, comparisons, sweeps, searches and reproduced results: each is one HTML file."""

from unweave.reports.figures import write_figures
from unweave.reports.page import dataset_sheet, write_comparison_report, write_run_report
from unweave.reports.result import write_result_report
from unweave.reports.sweep import write_sweep_report

__all__ = [
    "dataset_sheet",
    "write_comparison_report",
    "write_figures",
    "write_result_report",
    "write_run_report",
    "write_sweep_report",
]
