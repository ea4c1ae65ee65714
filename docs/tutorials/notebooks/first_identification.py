# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # First identification
#
# The tutorial of the same name, in a notebook: a mass on a spring, pushed by a step of 10 N. Mass, damping and
# stiffness are wanted. `jupytext --to ipynb first_identification.py` makes an `.ipynb` of this file.

# %%
from pathlib import Path

import numpy as np

import fmident

# %% [markdown]
# ## Data
#
# From the exact solution, with noise of 0.1 mm on the position.

# %%
m, d, k, force = 3.0, 5.0, 400.0, 10.0  # what the identification must find
t = np.arange(0.0, 5.0, 0.004)
omega0, zeta = np.sqrt(k / m), d / (2 * np.sqrt(k * m))
omega = omega0 * np.sqrt(1 - zeta**2)
decay = np.exp(-zeta * omega0 * t)
x = force / k * (1 - decay * (np.cos(omega * t) + zeta * omega0 / omega * np.sin(omega * t)))
x += np.random.default_rng(1).normal(0.0, 1e-4, t.size)
table = np.column_stack([t, np.full_like(t, force), 1e3 * x])
header = "time [s],force [N],position [mm]"
np.savetxt("measured.csv", table, delimiter=",", header=header, comments="")

# %% [markdown]
# ## Problem
#
# The file of the tutorial. As the last line of a cell, a problem shows its parameters and experiments.

# %%
Path("problem.toml").write_text(
    """\
[model]
class = "Mechanisms.FMUs.MassSpringDamper"

[parameters]
m = { initial = 1.0, bounds = [0.1, 20.0] }
d = { initial = 1.0, bounds = [0.0, 100.0] }
k = { initial = 200.0, bounds = [10.0, 5000.0] }

[[experiments]]
data = "measured.csv"
inputs = { F = "force" }
outputs = { x = { column = "position", sigma = 0.1 } }
"""
)
problem = fmident.load_problem("problem.toml")
problem

# %%
fmident.check(problem, quick=True)

# %% [markdown]
# ## Run

# %%
result = fmident.estimate(problem)
result

# %%
result.plot_fit()
result.plot_residuals()

# %% [markdown]
# The true values lie inside four standard errors.

# %%
errors = result.parameters["standard_error"]
for name, true in {"m": m, "d": d, "k": k}.items():
    assert abs(result.values[name] - true) < 4 * errors[name]
