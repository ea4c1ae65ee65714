"""Data files of other formats, written by the libraries that others write them with."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import numpy as np
import pytest

from fmident.data import read_table, time_axis, time_column
from fmident.data.table import Table
from fmident.errors import Code, DataError
from fmident.plugins import load_plugins

from ..refused import refused

TIMES = np.array([0.0, 0.1, 0.25, 0.5])
FORCE = np.array([1.0, -2.0, np.nan, 4.5])
SPEED = np.array([0.5, 0.25, 1e-3, 7.0])


def read(path: Path) -> Table:
    return read_table(path, reader=load_plugins().read_data)


def is_complete(table: Table) -> None:
    np.testing.assert_array_equal(time_axis(table, time_column(table)), TIMES)
    np.testing.assert_array_equal(table.column("force"), FORCE)
    np.testing.assert_array_equal(table.column("speed"), SPEED)
    assert table.units["force"] in ("N", None)
    assert table.lines is None


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_arrow(suffix: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    fields = [
        pa.field("time", pa.float64(), metadata={"unit": "s"}),
        pa.field("force", pa.float64(), metadata={"unit": "N"}),
        pa.field("speed", pa.float64()),
    ]
    table = pa.table([TIMES, FORCE, SPEED], schema=pa.schema(fields))
    path = tmp_path / f"data{suffix}"
    (pyarrow.parquet.write_table if suffix == ".parquet" else pyarrow.feather.write_feather)(
        table, str(path)
    )
    found = read(path)
    is_complete(found)
    assert found.units == {"time": "s", "force": "N", "speed": None}


def test_matlab_5(tmp_path: Path) -> None:
    from scipy.io import savemat

    log = {"time": TIMES, "force": FORCE, "note": "made by hand"}
    both = np.column_stack([SPEED, 2.0 * SPEED])
    savemat(tmp_path / "data.mat", {"log": log, "speeds": both, "gain": 3.0})
    table = read(tmp_path / "data.mat")
    assert table.names == ["log.time", "log.force", "speeds[1]", "speeds[2]"]
    np.testing.assert_array_equal(time_axis(table, "log.time"), TIMES)
    np.testing.assert_array_equal(table.column("log.force"), FORCE)
    np.testing.assert_array_equal(table.column("speeds[2]"), 2.0 * SPEED)


def test_matlab_7_3(tmp_path: Path) -> None:
    """The layout that MATLAB writes: HDF5 behind 512 bytes, matrices by columns."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "data.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in (("time", TIMES), ("force", FORCE), ("speed", SPEED)):
            file.create_dataset(name, data=values[np.newaxis, :])  # n x 1 in MATLAB
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
        both = np.column_stack([SPEED, 2.0 * SPEED])
        file.create_dataset("both", data=both.T)
        file["both"].attrs["MATLAB_class"] = np.bytes_("double")
        file.create_dataset("text", data=np.array([[97], [98]], dtype=np.uint16))
        file["text"].attrs["MATLAB_class"] = np.bytes_("char")
        file.create_dataset("#refs#/a", data=TIMES)
    table = read(path)
    is_complete(table)
    np.testing.assert_array_equal(table.column("both[2]"), 2.0 * SPEED)
    assert set(table.names) == {"time", "force", "speed", "both[1]", "both[2]"}


def test_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        file["time"], file["force"], file["rig/speed"] = TIMES, FORCE, SPEED
        file["force"].attrs["unit"] = "N"
        file["other"] = np.zeros(7)  # belongs to another time
    table = read(path)
    assert table.units == {"time": None, "force": "N", "rig.speed": None}
    np.testing.assert_array_equal(table.column("rig.speed"), SPEED)


def test_signals_of_different_length_without_a_time_are_refused(tmp_path: Path) -> None:
    from scipy.io import savemat

    savemat(tmp_path / "data.mat", {"force": FORCE, "speed": SPEED[:2]})
    with refused(Code.INVALID_DATA, DataError, match=r"'force' 4, 'speed' 2.*none is called time"):
        read(tmp_path / "data.mat")


def trajectories(path: Path, *, transposed: bool) -> None:
    """Write a result as Dymola and OpenModelica do: an event at 0.1 s, an alias with minus."""
    from scipy.io import savemat

    names = ["time", "force", "speed", "minus.speed", "m"]
    notes = ["Time in [s]", "Pull [N]", "[rad/s|rpm]", "", "Mass [kg]"]
    info = np.array([[0, 1], [2, 2], [2, 3], [2, -3], [1, 2]])
    info = np.column_stack([info, np.zeros((5, 2))]).astype(np.int32)
    times = np.array([0.0, np.nextafter(0.1, 1.0), 0.1, 0.25, 0.5])  # rounded at the event
    force = np.array([1.0, 99.0, -2.0, 3.0, 4.5])
    speed = np.array([0.5, 99.0, 0.25, 1e-3, 7.0])
    table = np.column_stack([times, force, speed])
    constants = np.array([[0.0, 3.0], [0.5, 3.0]])

    def texts(rows: list[str]) -> np.ndarray:
        width = max(map(len, rows))
        characters = np.array([list(r.ljust(width)) for r in rows])
        return np.ascontiguousarray(characters.T) if transposed else characters

    kind = "binTrans" if transposed else "binNormal"
    head = ["Atrajectory", "1.1", "", kind]
    savemat(
        path,
        {
            "Aclass": np.array([list(r.ljust(11)) for r in head]),
            "name": texts(names),
            "description": texts(notes),
            "dataInfo": info.T if transposed else info,
            "data_1": constants.T if transposed else constants,
            "data_2": table.T if transposed else table,
        },
        format="4",
    )


@pytest.mark.parametrize("transposed", [True, False])
def test_results_of_modelica_tools(transposed: bool, tmp_path: Path) -> None:
    trajectories(tmp_path / "res.mat", transposed=transposed)
    table = read(tmp_path / "res.mat")
    np.testing.assert_array_equal(time_axis(table, time_column(table)), TIMES)
    np.testing.assert_array_equal(table.column("force"), [1.0, -2.0, 3.0, 4.5])
    np.testing.assert_array_equal(table.column("minus.speed"), -SPEED)
    assert table.units == {"time": "s", "force": "N", "speed": "rad/s", "minus.speed": None}


def test_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Test rig 7"])
    sheet.append(["time", "force", "speed", "remark"])
    sheet.append(["s", "N", "rad/s"])
    for t, f, v in zip(TIMES, FORCE, SPEED, strict=True):
        sheet.append([t, None if np.isnan(f) else f, v, "good"])
    book.create_sheet("notes").append(["nothing but words"])
    book.save(tmp_path / "data.xlsx")
    table = read(tmp_path / "data.xlsx")
    is_complete(table)
    assert table.units["speed"] == "rad/s"
    book.create_sheet("more").append(["time", "x"])
    book["more"].append([0.0, 1.0])
    book.save(tmp_path / "data.xlsx")
    with pytest.raises(DataError, match="several sheets hold a table: 'Sheet', 'more'"):
        read(tmp_path / "data.xlsx")


def test_excel_with_dates_and_formulas(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    begin = datetime.datetime(2024, 3, 1, 12, 0, 0)
    book.active.append(["time", "force"])
    for k in range(3):
        book.active.append([begin + datetime.timedelta(seconds=k), float(k)])
    book.save(tmp_path / "data.xlsx")
    table = read(tmp_path / "data.xlsx")
    np.testing.assert_array_equal(time_axis(table, "time"), [0.0, 1.0, 2.0])
    book.active["B3"] = "=B2+1"
    book.save(tmp_path / "data.xlsx")
    with pytest.raises(DataError, match="cell B3 of sheet 'Sheet' is a formula without a value"):
        read(tmp_path / "data.xlsx")


def test_mf4(tmp_path: Path) -> None:
    """Groups of different rates: every sample stays at its instant, nothing is interpolated."""
    asammdf = pytest.importorskip("asammdf")
    with asammdf.MDF(version="4.10") as file:
        good = np.isfinite(FORCE)
        force = asammdf.Signal(FORCE[good], TIMES[good], unit="N", name="force")
        file.append([force])
        file.append([asammdf.Signal(SPEED, TIMES, unit="rad/s", name="speed")])
        file.save(tmp_path / "data.mf4")
    table = read(tmp_path / "data.mf4")
    is_complete(table)
    assert table.units == {"time": "s", "force": "N", "speed": "rad/s"}


def test_tdms(tmp_path: Path) -> None:
    nptdms = pytest.importorskip("nptdms")

    def channel(group: str, name: str, values: np.ndarray, **properties: object) -> object:
        return nptdms.ChannelObject(group, name, values, properties=properties)

    with nptdms.TdmsWriter(str(tmp_path / "plain.tdms")) as writer:
        writer.write_segment(
            [
                channel("rig", "time", TIMES),
                channel("rig", "force", FORCE, unit_string="N"),
                channel("rig", "speed", SPEED),
            ]
        )
    is_complete(read(tmp_path / "plain.tdms"))
    wave = {"wf_increment": 0.5, "wf_start_offset": 0.0, "unit_string": "V"}
    slow = {**wave, "wf_increment": 1.0}
    with nptdms.TdmsWriter(str(tmp_path / "waves.tdms")) as writer:
        writer.write_segment([channel("a", "u", np.arange(5.0), **wave)])
        writer.write_segment([channel("b", "u", np.arange(3.0), **slow)])
    table = read(tmp_path / "waves.tdms")
    np.testing.assert_array_equal(table.column("time"), 0.5 * np.arange(5.0))
    np.testing.assert_array_equal(table.column("b.u"), [0.0, np.nan, 1.0, np.nan, 2.0])
    assert table.units["a.u"] == "V"


@pytest.mark.parametrize(
    ("suffix", "missing"),
    [
        (".parquet", "pyarrow.parquet"), (".feather", "pyarrow.feather"), (".h5", "h5py"),
        (".xlsx", "openpyxl"), (".mf4", "asammdf"), (".tdms", "nptdms"),
    ],
)  # fmt: skip
def test_a_missing_library_is_named(
    suffix: str, missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    path = tmp_path / f"data{suffix}"
    path.write_bytes(b"")
    hint = r'hint: pip install "fmident\[readers\]"'
    with refused(Code.NOT_INSTALLED, DataError, match=f"which is not installed\n  {hint}"):
        read(path)


@pytest.mark.parametrize(
    ("suffix", "needed"),
    [
        (".parquet", "pyarrow"), (".feather", "pyarrow"), (".mat", "scipy"), (".h5", "h5py"),
        (".xlsx", "openpyxl"), (".mf4", "asammdf"), (".tdms", "nptdms"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(suffix: str, needed: str, tmp_path: Path) -> None:
    pytest.importorskip(needed)
    path = tmp_path / f"data{suffix}"
    path.write_bytes(b"this is no such file, but long enough to look like one" * 20)
    with refused(Code.UNUSABLE_FILE, DataError, match=r"data\.\w+: the file cannot be read"):
        read(path)


def test_other_files_are_left_to_others(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("time,force\n0,1\n1,2\n", encoding="utf-8")
    assert read(path).lines is not None
