"""Large numbers of simulations: executors, the evaluator, finite differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.evaluation.derivatives.differences import (
        Columns,
        DirectionalDerivatives,
        JacobianError,
        difference_columns,
    )
    from fmident.evaluation.derivatives.exact import differentiated_outputs
    from fmident.evaluation.derivatives.noise import NoiseEstimate, noise_level
    from fmident.evaluation.derivatives.steps import StepSizes, choose_steps, fixed_steps
    from fmident.evaluation.evaluator import Evaluator
    from fmident.evaluation.executors import (
        AutoExecutor,
        Done,
        Executor,
        ExecutorKind,
        ExecutorReport,
        InProcessExecutor,
        ProcessExecutor,
        Warn,
        make_executor,
        runs_in_this_process,
    )
    from fmident.evaluation.matching import EventMatching
    from fmident.evaluation.python_model import PythonExecutor, python_problem
    from fmident.evaluation.setups import output_variables, simulation_setup, simulation_setups
    from fmident.evaluation.side_by_side import in_callers_thread
    from fmident.evaluation.tasks import (
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
        "AutoExecutor": "executors",
        "Columns": "derivatives.differences",
        "DirectionalDerivatives": "derivatives.differences",
        "Done": "executors",
        "Evaluator": "evaluator",
        "EventMatching": "matching",
        "Executor": "executors",
        "ExecutorKind": "executors",
        "ExecutorReport": "executors",
        "InProcessExecutor": "executors",
        "JacobianError": "derivatives.differences",
        "NoiseEstimate": "derivatives.noise",
        "ProcessExecutor": "executors",
        "PythonExecutor": "python_model",
        "Simulated": "tasks",
        "SimulationFailure": "tasks",
        "SimulationTask": "tasks",
        "StepSizes": "derivatives.steps",
        "Warn": "executors",
        "choose_steps": "derivatives.steps",
        "difference_columns": "derivatives.differences",
        "differentiated_outputs": "derivatives.exact",
        "fixed_steps": "derivatives.steps",
        "in_callers_thread": "side_by_side",
        "make_executor": "executors",
        "noise_level": "derivatives.noise",
        "output_variables": "setups",
        "python_problem": "python_model",
        "refuse_not_finite": "tasks",
        "runs_in_this_process": "executors",
        "simulation_setup": "setups",
        "simulation_setups": "setups",
    },
)
