"""Data of the mass-spring-damper study: the exact response to a sine, sampled, with noise.

    python examples/msd-online/generate.py [--snr 50] [--ratio 3] [--seed 0] [--output FOLDER]

writes ``sine.csv`` with the columns time, force and position; into ``data`` beside this file, if
no folder is given.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Oscillator:
    """The paper's system, section 5: ``x'' + c/m x' + k/m x = A1 sin(omega1 t)``.

    The input of equation 22 is an acceleration: A1 is beside x'' there. As a force it is
    ``m*A1``.
    """

    stiffness: float = 400.0  # N/m
    damping: float = 0.05  # N.s/m
    mass: float = 3.0  # kg
    amplitude: float = 333.333  # m/s2
    step: float = 1e-3  # s
    span: float = 5.0  # s

    @property
    def theta1(self) -> float:
        """c/m, 1/s."""
        return self.damping / self.mass

    @property
    def theta2(self) -> float:
        """k/m, 1/s2."""
        return self.stiffness / self.mass

    @property
    def omega0(self) -> float:
        """Natural angular frequency without damping, rad/s."""
        return float(np.sqrt(self.theta2))

    @property
    def times(self) -> np.ndarray:
        """Instants of the samples, s."""
        return np.arange(round(self.span / self.step) + 1) * self.step

    def drive(self, ratio: float, times: np.ndarray | None = None) -> np.ndarray:
        """Return u, m/s2, at omega1 = ratio * omega0."""
        t = self.times if times is None else times
        return self.amplitude * np.sin(ratio * self.omega0 * t)

    def response(
        self,
        ratio: float,
        times: np.ndarray | None = None,
        start: tuple[float, float] = (0.0, 0.0),
        begin: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return x and x' in closed form; `start` holds both at the instant `begin`."""
        t = self.times if times is None else times
        omega = ratio * self.omega0
        gain = self.amplitude / (self.theta2 - omega**2 + 1j * omega * self.theta1)
        root = 0.5 * (-self.theta1 + np.sqrt(complex(self.theta1**2 - 4.0 * self.theta2)))

        def forced(at):
            return gain * np.exp(1j * omega * at)

        x0 = start[0] - forced(begin).imag
        v0 = start[1] - (1j * omega * forced(begin)).imag
        matrix = np.array([[1.0, 1.0], [root, root.conjugate()]])
        free = np.linalg.solve(matrix, np.array([x0, v0], dtype=complex))
        pair = np.array([root, root.conjugate()])
        waves = free[:, np.newaxis] * np.exp(np.outer(pair, t - begin))
        x = forced(t).imag + waves.sum(axis=0).real
        v = (1j * omega * forced(t)).imag + (pair @ waves).real
        return x, v

    def response_at(self, ratio: float, other: Oscillator) -> np.ndarray:
        """Return x from rest, driven at a ratio to the natural frequency of `other`."""
        return self.response(ratio * other.omega0 / self.omega0)[0]


def noise_level(signal: np.ndarray, snr: float) -> float:
    """Return the standard deviation for a signal-to-noise ratio in dB (mean squares)."""
    return float(np.sqrt(np.mean(signal**2)) * 10.0 ** (-snr / 20.0))


def main() -> None:
    """Write the data file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--snr", type=float, default=50.0, help="dB")
    parser.add_argument("--ratio", type=float, default=3.0, help="omega1/omega0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=FOLDER / "data", metavar="FOLDER")
    chosen = parser.parse_args()
    system = Oscillator()
    x, _ = system.response(chosen.ratio)
    sigma = noise_level(x, chosen.snr)
    noisy = x + sigma * np.random.default_rng(chosen.seed).normal(size=x.size)
    force = system.mass * system.drive(chosen.ratio)
    chosen.output.mkdir(parents=True, exist_ok=True)
    target = chosen.output / "sine.csv"
    table = np.column_stack([system.times, force, noisy])
    np.savetxt(target, table, fmt="%.10g", delimiter=",", header="time,force,position", comments="")
    print(f"{target}: {x.size} samples, sigma = {sigma:.4g} m")


if __name__ == "__main__":
    main()
