"""Build small FMI 3.0 Co-Simulation FMUs from C."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fmident.fmu.archive import library_suffix

from .build import GUID, compile_library
from .exchange import pack_fmu


@dataclass(frozen=True)
class Slave3:
    """What goes into an FMU; `variables` is XML."""

    source: str
    variables: str
    flags: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""
    structure: str = ""
    defines: tuple[str, ...] = ()


def description_3(fixture: Slave3, identifier: str) -> str:
    """Return the model description."""
    flags = {"canHandleVariableCommunicationStepSize": "true", **fixture.flags}
    attributes = "".join(f' {k}="{v}"' for k, v in flags.items())
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<fmiModelDescription fmiVersion="3.0" modelName="{identifier}"'
        f' instantiationToken="{GUID}" generationTool="fmident tests">\n'
        f'<CoSimulation modelIdentifier="{identifier}"{attributes}/>\n'
        f"{fixture.extra}<ModelVariables>\n{fixture.variables}\n</ModelVariables>\n"
        f"<ModelStructure>{fixture.structure}</ModelStructure>\n</fmiModelDescription>\n"
    )


def build_slave3(fixture: Slave3, folder: Path) -> Path:
    """Compile and zip; return the path of the FMU."""
    identifier = Path(fixture.source).stem
    key = hashlib.sha256(repr(fixture).encode()).hexdigest()[:12]
    path = folder / f"{identifier}-{key}.fmu"
    if not path.exists():
        library = folder / f"{identifier}-{key}{library_suffix()}"
        compile_library(fixture.source, fixture.defines, library)
        pack_fmu(path, description_3(fixture, identifier), library, "3.0", identifier)
    return path


GRID = """
<UInt64 name="n" valueReference="1" causality="structuralParameter" variability="fixed" start="2"/>
<Float64 name="u" valueReference="2" causality="input" start="0 0" unit="N">
  <Dimension valueReference="1"/></Float64>
<Float64 name="x" valueReference="3" causality="output" unit="m" displayUnit="mm">
  <Dimension valueReference="1"/><Alias name="position" description="the same" displayUnit="km"/>
</Float64>
<Float64 name="a" valueReference="4" causality="parameter" variability="tunable" start="1 2">
  <Dimension valueReference="1"/></Float64>
<Float64 name="M" valueReference="5" causality="parameter" start="1 2 3 4 5 6">
  <Dimension start="2"/><Dimension start="3"/></Float64>
<Float64 name="y" valueReference="6" causality="output"/>
<Int8 name="i8" valueReference="7" causality="parameter" start="0"/>
<UInt8 name="u8" valueReference="8" causality="parameter" start="0"/>
<Int16 name="i16" valueReference="9" causality="parameter" start="0"/>
<UInt16 name="u16" valueReference="10" causality="parameter" start="0"/>
<Int32 name="i32" valueReference="11" causality="parameter" start="0"/>
<UInt32 name="u32" valueReference="12" causality="parameter" start="0"/>
<Int64 name="i64" valueReference="13" causality="parameter" start="0"/>
<UInt64 name="u64" valueReference="14" causality="parameter" start="0"/>
<Float32 name="f32" valueReference="15" causality="parameter" start="0"/>
<Boolean name="flags" valueReference="16" causality="input" start="false true false">
  <Dimension start="3"/></Boolean>
<Enumeration name="mode" valueReference="17" causality="parameter" declaredType="Mode" start="1"/>
<String name="text" valueReference="18" causality="parameter"><Dimension start="2"/>
  <Start value="ab"/><Start value="c"/></String>
<Float64 name="length" valueReference="19" causality="output"/>
<Int64 name="total" valueReference="20" causality="output"/>
<Float64 name="tuned" valueReference="21" causality="parameter" variability="tunable" start="1"
  declaredType="Gain"/>
<Float32 name="sin" valueReference="22" causality="input" start="0"/>
<Float32 name="sout" valueReference="23" causality="output"/>
<Float64 name="tolerance" valueReference="24" causality="local"/>
<Binary name="blob" valueReference="25" causality="local"/>
"""
GRID_TYPES = (
    '<TypeDefinitions><Float64Type name="Gain" unit="N.m" displayUnit="kN.m" min="0"/>'
    '<EnumerationType name="Mode"><Item name="off" value="1"/></EnumerationType>'
    "</TypeDefinitions>\n"
)
CONTACT = """
<Float64 name="h" valueReference="1" causality="output"/>
<Float64 name="v" valueReference="2" causality="output"/>
<Float64 name="e" valueReference="3" causality="parameter" start="0.8"/>
<Int32 name="kind" valueReference="4" causality="parameter" start="0"/>
<Float64 name="ticks" valueReference="5" causality="output" variability="discrete"/>
<Float64 name="period" valueReference="6" causality="parameter" start="0.25"/>
<Int32 name="push" valueReference="7" causality="input" start="0"/>
<Float64 name="pushed" valueReference="8" causality="output" variability="discrete"/>
<Float64 name="events" valueReference="9" causality="local"/>
<Float64 name="steps" valueReference="10" causality="local"/>
"""
LINES = """
<Float64 name="u" valueReference="1" causality="input" start="0" intermediateUpdate="true"/>
<Float64 name="x" valueReference="2" causality="output"/>
<Float64 name="asked" valueReference="3" causality="local"/>
<Float64 name="w" valueReference="4" causality="input" start="0"/>
"""
