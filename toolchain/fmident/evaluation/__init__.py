"""Large numbers of simulations: executors, the evaluator, finite differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.evaluation.derivatives.differences import (
        Columns,
        JacobianError,
        NoiseEstimate,
        StepSizes,
        choose_steps,
        difference_columns,
        fixed_steps,
        noise_level,
    )
    from fmident.evaluation.derivatives.verification import DirectionalDerivatives
    from fmident.evaluation.evaluator import Evaluator, differentiated_outputs
    from fmident.evaluation.executors.auto import AutoExecutor
    from fmident.evaluation.executors.base import Executor, ExecutorReport
    from fmident.evaluation.executors.inline import InProcessExecutor
    from fmident.evaluation.executors.processes.executor import ProcessExecutor
    from fmident.evaluation.executors.registry import (
        ExecutorKind,
        Warn,
        make_executor,
        runs_in_this_process,
    )
    from fmident.evaluation.matching import EventMatching
    from fmident.evaluation.python_model import PythonExecutor, python_problem
    from fmident.evaluation.setups import output_variables, simulation_setup, simulation_setups
    from fmident.evaluation.side_by_side import in_callers_thread
    from fmident.evaluation.tasks import (
        Done,
        OtherExperiment,
        Outcomes,
        Simulated,
        SimulationFailure,
        SimulationTask,
        refuse_not_finite,
    )

__all__ = [
    "AutoExecutor",
    "Columns",
    "DirectionalDerivatives",
    "Done",
    "Evaluator",
    "EventMatching",
    "Executor",
    "ExecutorKind",
    "ExecutorReport",
    "InProcessExecutor",
    "JacobianError",
    "NoiseEstimate",
    "OtherExperiment",
    "Outcomes",
    "ProcessExecutor",
    "PythonExecutor",
    "Simulated",
    "SimulationFailure",
    "SimulationTask",
    "StepSizes",
    "Warn",
    "choose_steps",
    "difference_columns",
    "differentiated_outputs",
    "fixed_steps",
    "in_callers_thread",
    "make_executor",
    "noise_level",
    "output_variables",
    "python_problem",
    "refuse_not_finite",
    "runs_in_this_process",
    "simulation_setup",
    "simulation_setups",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "AutoExecutor": "executors.auto",
        "Columns": "derivatives.differences",
        "DirectionalDerivatives": "derivatives.verification",
        "Done": "tasks",
        "Evaluator": "evaluator",
        "EventMatching": "matching",
        "Executor": "executors.base",
        "ExecutorKind": "executors.registry",
        "ExecutorReport": "executors.base",
        "InProcessExecutor": "executors.inline",
        "JacobianError": "derivatives.differences",
        "NoiseEstimate": "derivatives.differences",
        "OtherExperiment": "tasks",
        "Outcomes": "tasks",
        "ProcessExecutor": "executors.processes.executor",
        "PythonExecutor": "python_model",
        "Simulated": "tasks",
        "SimulationFailure": "tasks",
        "SimulationTask": "tasks",
        "StepSizes": "derivatives.differences",
        "Warn": "executors.registry",
        "choose_steps": "derivatives.differences",
        "difference_columns": "derivatives.differences",
        "differentiated_outputs": "evaluator",
        "fixed_steps": "derivatives.differences",
        "in_callers_thread": "side_by_side",
        "make_executor": "executors.registry",
        "noise_level": "derivatives.differences",
        "output_variables": "setups",
        "python_problem": "python_model",
        "refuse_not_finite": "tasks",
        "runs_in_this_process": "executors.registry",
        "simulation_setup": "setups",
        "simulation_setups": "setups",
    },
)
