"""Global sensitivity analysis over the bounds: the methods of Morris and Sobol."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy

from fmident.arrays import F64, root_mean_square
from fmident.checking.result import FEWEST_SAMPLES, GlobalMethod, GlobalSensitivity, OutputIndices
from fmident.checking.subject import SimulatedSubject
from fmident.errors import ProblemError
from fmident.estimation.checks import box
from fmident.findings import Finding
from fmident.problem.residuals import compared_sigma, residual_layout

_LOOSE = 0.1
"""Error of an index above which more samples are advised."""

_BATCH, _INSTANTS = 256, 60
_LEVELS = 4
"""Levels of each parameter in the design of Morris."""

_SILENT = 1e-20
"""Part of the largest variance below which an output does not move at an instant."""

_RESAMPLES = 100
_NORMAL = 1.96


def global_sensitivity(subject: SimulatedSubject) -> GlobalSensitivity | None:
    """Vary all free parameters within their bounds and compute the sensitivities, if asked for.

    Parameters are distributed uniformly over their bounds, or log-uniformly with log
    scaling. If a bound is missing, a parameter stays within a factor of about three of its
    initial value, or within its scale if it starts at zero. Raises `ProblemError` if
    constraints tie the parameters to each other.
    """
    method, problem, evaluator = subject.global_method, subject.problem, subject.evaluator
    if method is None:
        return None
    if problem.constraints:
        raise ProblemError(
            "a global sensitivity analysis needs parameters that move independently, but there "
            "are constraints",
            location=problem.where("constraints"),
            hint="leave the constraints out for this check",
        )
    n = len(problem.free)
    cube = (_trajectories if method.name == "morris" else _base_points)(method, n)
    lower, upper = box(evaluator)
    points = evaluator.space.to_physical(lower + cube.reshape(-1, n) * (upper - lower))
    points = np.clip(points, problem.lower, problem.upper)
    chosen = _instants(subject)
    with evaluator.activities.during("global sensitivities", len(points)):
        values = np.vstack(
            [
                evaluator.probe(points[k : k + _BATCH])[:, np.concatenate(chosen)]
                for k in range(0, len(points), _BATCH)
            ]
        )
    blocks = values.reshape(len(cube), method.block(n), -1)
    whole = np.isfinite(blocks).all(axis=(1, 2))  # a failed point spoils its block
    ends = evaluator.space.to_physical(np.stack([lower, upper]))
    used = int(np.count_nonzero(whole))
    outputs: list[OutputIndices] = []
    if used >= FEWEST_SAMPLES:
        parts = np.split(blocks[whole], np.cumsum([rows.size for rows in chosen])[:-1], axis=2)
        for rows, part in zip(chosen, parts, strict=True):
            outputs += _output(subject, method, rows, cube[whole], part)
    return GlobalSensitivity(
        method,
        tuple(q.name for q in problem.free),
        np.maximum(ends[0], problem.lower),
        np.minimum(ends[1], problem.upper),
        points=len(points),
        failed=int(np.count_nonzero(~np.isfinite(values).all(axis=1))),
        used=used,
        outputs=tuple(outputs),
    )


def _instants(subject: SimulatedSubject) -> list[npt.NDArray[np.intp]]:
    """Return residual indices of each output at instants spread over its samples."""
    layout = residual_layout(subject.problem)
    instants = []
    for i, k, _, _ in subject.outputs():
        rows = layout.rows_of(i, k)
        if rows.size:
            picked = np.linspace(0, rows.size - 1, min(rows.size, _INSTANTS))
            instants.append(rows[np.unique(picked.round().astype(np.intp))])
    return instants


def _output(
    subject: SimulatedSubject,
    method: GlobalMethod,
    rows: npt.NDArray[np.intp],
    cube: F64,
    values: F64,
) -> Iterator[OutputIndices]:
    """Yield the indices of one output, unless it is constant.

    `cube` are whole blocks of points, shape (blocks, points, n), and `values` the output
    there at some instants, shape (blocks, points, k).
    """
    variances = values.reshape(-1, rows.size).var(axis=0)
    mean = float(variances.mean())
    moving = variances > _SILENT * variances.max(initial=0.0)
    if not mean > np.finfo(np.float64).tiny or not moving.any():
        return
    layout, over_time = residual_layout(subject.problem), np.zeros((rows.size, cube.shape[2]))
    compute = _elementary_effects if method.name == "morris" else _variance_parts
    indices, over_time[moving] = compute(cube, values[:, :, moving], rows.size, method.seed)
    experiment = subject.problem.experiments[int(layout.experiment[rows[0]])]
    measurement = experiment.measurements[int(layout.measurement[rows[0]])]
    sigma = compared_sigma(measurement)
    size = 1.0 if sigma is None else root_mean_square(sigma)
    yield OutputIndices(
        experiment.name,
        measurement.name,
        measurement.unit,
        float(np.sqrt(mean)) * size / measurement.weight,
        indices,
        layout.time[rows],
        over_time,
    )


def _trajectories(method: GlobalMethod, n: int) -> F64:
    """Return points of the unit cube that differ in one parameter each, (trajectories, n + 1, n).

    Each parameter moves once by two thirds of its range, between four levels (Morris 1991).
    """
    random = np.random.default_rng(method.seed)
    points = np.empty((method.count, n + 1, n))
    step = _LEVELS / (2.0 * (_LEVELS - 1.0))
    for trajectory in points:
        low = random.integers(0, _LEVELS // 2, n) / (_LEVELS - 1.0)
        moved = random.permutation(n) < np.arange(n + 1)[:, np.newaxis]
        upwards = random.random(n) < 0.5
        trajectory[:] = low + step * (moved == upwards)
    return points


def _elementary_effects(
    cube: F64, values: F64, instants: int, seed: int
) -> tuple[dict[str, F64], F64]:
    """Return mean and spread of the effects of each parameter, and the mean at each instant."""
    steps = np.diff(cube, axis=1)
    moved = np.abs(steps).argmax(axis=2)
    slopes = np.diff(values, axis=1) / steps.sum(axis=2, keepdims=True)
    effects = np.take_along_axis(slopes, moved.argsort(axis=1)[..., np.newaxis], axis=1)
    means = np.abs(effects).mean(axis=0)  # shape (n, k)
    errors = _NORMAL * np.abs(effects).std(axis=0) / np.sqrt(len(effects))
    variance = float(values.reshape(-1, values.shape[2]).var(axis=0).sum())
    parts = {"mu_star": means, "sigma": effects.std(axis=0, ddof=1), "mu_star_conf": errors}
    indices = {name: np.sqrt(np.sum(x**2, axis=1) / variance) for name, x in parts.items()}
    return indices, means.T * np.sqrt(instants / variance)


def _base_points(method: GlobalMethod, n: int) -> F64:
    """Return for each base point A and B of the unit cube, and A with each parameter of B.

    Shape (base points, n + 2, n), as Saltelli et al. (2010) have them.
    """
    both = scipy.stats.qmc.Sobol(2 * n, seed=method.seed).random(method.count)
    first, second = both[:, np.newaxis, :n], both[:, np.newaxis, n:]
    mixed = np.where(np.eye(n, dtype=np.bool_), second, first)
    return np.concatenate([first, second, mixed], axis=1)


def _variance_parts(cube: F64, values: F64, instants: int, seed: int) -> tuple[dict[str, F64], F64]:
    """Return the parts of the variance that come from each parameter, and those at each instant.

    Estimators of Saltelli et al. (2010) and Jansen (1999); intervals from a bootstrap over
    the base points.
    """
    second, change = values[:, 1:2], values[:, 2:] - values[:, :1]
    variance = float(values[:, :2].reshape(-1, values.shape[2]).var(axis=0).sum())
    alone = (second - values[:, :2].mean(axis=(0, 1))) * change  # shape (base points, n, k)
    altogether = 0.5 * change**2
    parts = {"S1": alone.sum(axis=2) / variance, "ST": altogether.sum(axis=2) / variance}
    chosen = np.random.default_rng(seed).integers(0, len(values), (_RESAMPLES, len(values)))
    indices = {name: x.mean(axis=0) for name, x in parts.items()}
    for name, x in parts.items():
        indices[f"{name}_conf"] = _NORMAL * x[chosen].mean(axis=1).std(axis=0, ddof=1)
    return indices, altogether.mean(axis=0).T * (instants / variance)


def global_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield what the global sensitivities say, or why there are none."""
    result = subject.once(global_sensitivity)
    if result is None:
        return
    narrow = "narrow the bounds to where the model can be simulated"
    if result.used < FEWEST_SAMPLES:
        yield subject.warning(
            "global-sensitivity",
            ("parameters",),
            f"no global sensitivities: {result.failed} of {result.points} simulations inside the "
            f"bounds fail, and {result.used} of {result.method.count} samples are whole",
            narrow,
        )
        return
    if result.failed:
        yield subject.note(
            "global-sensitivity",
            ("parameters",),
            f"the global sensitivities are those of {result.used} of {result.method.count} "
            f"samples: {result.failed} of {result.points} simulations fail, and the indices leave "
            "out the points where they do",
            narrow,
        )
    if result.negligible:
        yield subject.note(
            "global-sensitivity",
            ("parameters", result.negligible[0]),
            "less than 1 % of the variance of each output over the bounds comes from"
            f" {', '.join(result.negligible)}",
            "fix it if its value is known well enough; how well the data determine it is its "
            "predicted error",
        )
    loosest = float(np.nanmax(result.largest_of(f"{result.index}_conf"), initial=0.0))
    if result.method.name == "sobol" and loosest > _LOOSE:
        yield subject.note(
            "global-sensitivity",
            ("parameters",),
            f"the global sensitivities are known to +-{loosest:.2g} only",
            f"--samples {4 * result.method.count} halves that",
        )
