# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # fmident from Python
#
# Data in memory, two experiments of which one is held out, intervals by profiles, two models side by side. No file is needed.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fmident

# %% [markdown]
# ## Two experiments
#
# A step and a free motion, from the exact solution of `m x'' + d x' + k x = F` with noise of 0.1 mm.

# %%
m, d, k = 3.0, 5.0, 400.0
t = np.arange(0.0, 4.0, 0.01)
omega0, zeta = np.sqrt(k / m), d / (2 * np.sqrt(k * m))
omega = omega0 * np.sqrt(1 - zeta**2)
swing = np.cos(omega * t) + zeta * omega0 / omega * np.sin(omega * t)
free = np.exp(-zeta * omega0 * t) * swing
noise = np.random.default_rng(2)


def experiment(force: float, position: np.ndarray) -> pd.DataFrame:
    measured = position + noise.normal(0.0, 1e-4, t.size)
    return pd.DataFrame({"time [s]": t, "force [N]": force, "position [mm]": 1e3 * measured})


data = {
    "step": experiment(10.0, 10.0 / k * (1 - free)),
    "release": experiment(0.0, 0.02 * free),
}

# %% [markdown]
# ## Problem
#
# The arguments are the tables of the problem file. The release is for validation: it is not fitted.

# %%
arguments = {
    "parameters": {
        "m": {"initial": 1.0, "bounds": (0.1, 20.0)},
        "d": {"initial": 1.0, "bounds": (0.0, 100.0)},
        "k": {"initial": 200.0, "bounds": (10.0, 5000.0)},
    },
    "inputs": {"F": "force"},
    "outputs": {"x": {"column": "position", "sigma": 0.1}},
    "experiments": {"release": {"role": "validation", "start_values": {"x_start": 0.02}}},
}
problem = fmident.Problem.from_frames("Mechanisms.FMUs.MassSpringDamper", data, **arguments)
problem

# %%
result = fmident.estimate(problem)
result

# %%
_, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
result.plot_fit(experiment="release", ax=left)
result.plot_intervals(ax=right)

# %% [markdown]
# ## How sure is it?

# %%
profiles = fmident.profile(problem, result, parameters=["d"])
profiles.plot_profile()
profiles

# %% [markdown]
# ## Is the damping needed?

# %%
arguments["parameters"]["d"] = {"initial": 0.0, "fixed": True}
without = fmident.estimate(
    fmident.Problem.from_frames("Mechanisms.FMUs.MassSpringDamper", data, **arguments)
)
both = fmident.compare(result, without, names=["with damping", "without"])
both

# %%
assert both.figures["bic"].idxmin() == "with damping"
assert result.validation.fits[0].nrmse < 0.05

# %% [markdown]
# ## And to a file
#
# For the command line, or for a colleague.

# %%
print(problem.to_toml("study/problem.toml", data=True))
