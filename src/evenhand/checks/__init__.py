"""Public conformance checks, one set for every contract: run them on your own plug-in before you trust it."""

from __future__ import annotations

from evenhand.checks.adapter_checks import for_adapter
from evenhand.checks.editor_checks import for_editor
from evenhand.checks.executor_checks import check_answers_are_those_of_this_process, executor_example, for_executor
from evenhand.checks.format_checks import for_format
from evenhand.checks.loader_checks import for_loader
from evenhand.checks.medium_checks import for_medium
from evenhand.checks.method_checks import for_method, picture_subject, standard_subject, subject_for
from evenhand.checks.model_checks import for_model
from evenhand.checks.operator_checks import for_operator
from evenhand.checks.oracle_checks import for_oracle
from evenhand.checks.population_checks import for_population
from evenhand.checks.power import Power, Trial, power_table
from evenhand.checks.repair_checks import for_repair
from evenhand.checks.result_checks import for_result

__all__ = [
    "Power",
    "Trial",
    "check_answers_are_those_of_this_process",
    "executor_example",
    "for_adapter",
    "for_editor",
    "for_executor",
    "for_format",
    "for_loader",
    "for_medium",
    "for_method",
    "for_model",
    "for_operator",
    "for_oracle",
    "for_population",
    "for_repair",
    "for_result",
    "picture_subject",
    "power_table",
    "standard_subject",
    "subject_for",
]
