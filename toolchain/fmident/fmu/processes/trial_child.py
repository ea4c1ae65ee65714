"""Child process of :mod:`fmident.fmu.processes.trial`; called with a folder's name."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path


def main(folder: str, life: str) -> None:
    """Serve one request; the answer is written to the result file."""
    from fmident.fmu.processes.child import REQUEST, RESULT, prepare

    prepare(life)
    from fmident.fmu.drivers import make_driver
    from fmident.fmu.fmu import open_fmu
    from fmident.fmu.life_cycle.instance import forked
    from fmident.fmu.native_code.log import borrow_buffer

    place = Path(folder)
    settings, setup, values = pickle.loads((place / REQUEST).read_bytes())
    fmu = open_fmu(settings.fmu)
    library = fmu.load_library(settings.interface)
    description = fmu.description.with_interface(settings.interface)
    generic = make_driver(description, library, fmu.resources, borrow_buffer(), "auto")
    driver = generic.configured(values)
    trial = driver.trial(driver.lay_out(setup), driver.assignment(tuple(values)), values)
    update, remark = ("after_step", "") if trial is None else trial.decide(forked)
    partial = place / (RESULT + ".part")
    partial.write_text(json.dumps([update, remark]), encoding="utf-8")
    partial.replace(place / RESULT)
    os._exit(0)
