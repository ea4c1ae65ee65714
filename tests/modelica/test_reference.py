"""The machines reproduce the trajectories that another compiler made of other models."""

from __future__ import annotations

import numpy as np
import pytest
from machines import Workshop
from motions import Fourier
from reference import deviation_of_range, known_parameters, read_reference

MOTION = tuple(f"{n}[{i}]" for n in ("q", "qd", "qdd") for i in (1, 2, 3))
TRIPOD_INPUTS = tuple(f"{n}[{i}]" for n in ("s_ref", "v_ref", "a_ref") for i in (1, 2, 3))
CRANK_INPUTS = ("q", "qd", "qdd")


def compare(
    workshop: Workshop,
    class_name: str,
    file: str,
    inputs: tuple[str, ...],
    tolerance: float | None,
    only_in_file: frozenset[str] = frozenset(),
    renamed: frozenset[str] = frozenset(),
) -> dict[str, float]:
    """Deviations of all outputs of the file, over their ranges."""
    machine = workshop.machine(class_name)
    reference = read_reference(file)
    outputs = [n for n in reference.signals if n not in (*inputs, "time") and n not in renamed]
    signals = machine.simulate(
        reference.times,
        {name: reference.signals[name] for name in inputs},
        outputs,
        known_parameters(machine, reference, set(only_in_file)),
        tolerance,
    )
    # Powers and energies that the file's case makes zero are noise there: judge them absolutely.
    scale = {name: 1.0 for name in outputs if float(np.ptp(reference.signals[name])) < 1e-12}
    return deviation_of_range(signals, reference.signals, scale)


@pytest.mark.parametrize(
    ("class_name", "file", "inputs", "only_in_file"),
    [
        ("FMUs.DeltaInverse", "delta_inverse_fourier", MOTION, {"barDistance"}),
        ("FMUs.DeltaInverse", "delta_inverse_fourier_lossless", MOTION, {"barDistance"}),
        ("FMUs.DeltaInverse", "delta_inverse_pick_and_place", MOTION, {"barDistance"}),
        ("FMUs.SliderCrankInverse", "slider_crank_inverse", CRANK_INPUTS, set()),
        ("FMUs.SliderCrankInverse", "slider_crank_inverse_free", CRANK_INPUTS, set()),
        ("FMUs.PositioningAxisInverse", "positioning_axis_inverse", CRANK_INPUTS, set()),
    ],
)
def test_inverse_machine_matches_reference(
    workshop: Workshop,
    class_name: str,
    file: str,
    inputs: tuple[str, ...],
    only_in_file: set[str],
) -> None:
    deviations = compare(workshop, class_name, file, inputs, None, frozenset(only_in_file))
    assert len(deviations) >= 5
    assert max(deviations.values()) < 1e-8, deviations


@pytest.mark.parametrize(
    ("class_name", "file", "inputs", "bound"),
    [
        ("FMUs.PositioningAxisClosedLoop", "positioning_axis_closed_loop", ("q_ref",), 1e-6),
        ("FMUs.RotaryDrive", "rotary_drive", ("motorTorque",), 1e-6),
        (
            "FMUs.SlideWithLuGreFriction",
            "slide_with_lugre_friction_presliding",
            ("u",),
            1e-5,
        ),
        (
            "FMUs.SlideWithLuGreFriction",
            "slide_with_lugre_friction_break_away",
            ("u",),
            1e-5,
        ),
        ("FMUs.Tripod", "tripod_pick_and_place", TRIPOD_INPUTS, 1e-5),
        ("FMUs.TripodInverse", "tripod_inverse", MOTION, 1e-6),
        ("FMUs.DeltaForward", "delta_forward", ("tau[1]", "tau[2]", "tau[3]"), 1e-6),
    ],
)
def test_forward_machine_matches_reference(
    workshop: Workshop, class_name: str, file: str, inputs: tuple[str, ...], bound: float
) -> None:
    deviations = compare(workshop, class_name, file, inputs, 1e-12)
    assert len(deviations) >= 9
    assert max(deviations.values()) < bound, deviations


def test_rotary_drive_with_lugre_friction_matches_reference(workshop: Workshop) -> None:
    deviations = compare(
        workshop,
        "FMUs.RotaryDriveWithLuGreFriction",
        "rotary_drive_with_lugre_friction",
        ("motorTorque",),
        1e-12,
        frozenset({"loadSpeedWidth"}),
    )
    assert max(deviations.values()) < 1e-5, deviations


@pytest.mark.parametrize(
    ("file", "torque"),
    [
        ("slider_crank_forward", ((0.25, 0.9, 0.4), (0.1, 0.35, 0.3))),
        (
            "slider_crank_forward_free",
            ((0.08, 0.9, 0.5 * np.pi), (0.04, 0.35, 0.5 * np.pi)),
        ),
    ],
)
def test_slider_crank_forward_matches_reference(
    workshop: Workshop, file: str, torque: tuple[tuple[float, float, float], ...]
) -> None:
    """The file's torque is its formula, not straight lines: it stands in the test's model."""
    reference = read_reference(file)
    machine = workshop.machine("MechanismsTest.SliderCrankUnderTwoSines")
    parameters = {f"machine.{name}": value for name, value in reference.parameters.items()}
    for k, (amplitude, frequency, phase) in enumerate(torque, start=1):
        parameters |= {
            f"amplitude[{k}]": amplitude,
            f"frequency[{k}]": frequency,
            f"phase[{k}]": phase,
        }
    names = [n for n in reference.signals if n != "time"]
    table = machine.simulate(
        reference.times, None, [f"machine.{n}" for n in names], parameters, 1e-12
    )
    signals = {name: table[f"machine.{name}"] for name in names}
    scale = {n: 1.0 for n in names if float(np.ptp(reference.signals[n])) < 1e-12}
    deviations = deviation_of_range(signals, reference.signals, scale)
    assert max(deviations.values()) < 1e-6, deviations


def test_fourier_source_moves_the_delta_as_the_reference(workshop: Workshop) -> None:
    """The example's own motion block gives the trajectory of the reference file."""
    reference = read_reference("delta_inverse_fourier")
    machine = workshop.machine("Examples.DeltaFourier")
    names = [n for n in reference.signals if n != "time"]
    signals = machine.simulate(reference.times, outputs=[f"robot.{n}" for n in names])
    deviations = deviation_of_range(
        {name: signals[f"robot.{name}"] for name in names}, reference.signals
    )
    assert max(deviations.values()) < 1e-8, deviations


def test_fourier_source_is_its_own_derivative(workshop: Workshop) -> None:
    machine = workshop.machine("Sources.FourierMotion")
    motion = Fourier(2.0, 0.3, (0.1, 0.2, 0.0, -0.1, 0.05, 0.3), (0.2, 0.0, 0.1, 0.0, -0.2, 0.1))
    times = np.linspace(0.0, 3.0, 301)
    parameters = {"omega": motion.omega, "offset": motion.offset}
    for k in range(6):
        parameters[f"sine[{k + 1}]"] = motion.sine[k]
        parameters[f"cosine[{k + 1}]"] = motion.cosine[k]
    signals = machine.simulate(times, outputs=("q", "qd", "qdd"), parameters=parameters)
    for order, name in enumerate(("q", "qd", "qdd")):
        np.testing.assert_allclose(signals[name], motion(times, order), rtol=0, atol=1e-10)
