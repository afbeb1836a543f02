"""Self-contained HTML pages about runs and sweeps. Reports read runs and never train."""

from unweave.reports.page import dataset_sheet, write_comparison_report, write_run_report
from unweave.reports.sweep import write_sweep_report

__all__ = ["dataset_sheet", "write_comparison_report", "write_run_report", "write_sweep_report"]
