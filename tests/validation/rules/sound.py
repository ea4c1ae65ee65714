"""Model descriptions that keep to every rule, one element per line."""

# ruff: noqa: E501

from __future__ import annotations

_UNITS = """<UnitDefinitions>
<Unit name="m"><BaseUnit m="1"/>
<DisplayUnit name="mm" factor="1000"/>
<DisplayUnit name="km" factor="0.001"/></Unit>
<Unit name="m/s"/>
</UnitDefinitions>"""

_MIDDLE = """<LogCategories>
<Category name="logStatusError"/>
<Category name="logEvents"/>
</LogCategories>
<DefaultExperiment startTime="0" stopTime="1" tolerance="1e-6" stepSize="0.1"/>"""

SOUND_2 = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="M" guid="(1)"
 generationDateAndTime="2026-01-02T03:04:05Z" variableNamingConvention="structured">
<ModelExchange modelIdentifier="M" canGetAndSetFMUstate="true" canSerializeFMUstate="true"/>
<CoSimulation modelIdentifier="M"/>
{_UNITS}
<TypeDefinitions>
<SimpleType name="Length"><Real unit="m" displayUnit="mm" min="-10" max="10" nominal="2"/></SimpleType>
<SimpleType name="Choice"><Enumeration>
<Item name="a" value="1"/>
<Item name="b" value="2"/></Enumeration></SimpleType>
</TypeDefinitions>
{_MIDDLE}
<VendorAnnotations>
<Tool name="A"/>
<Tool name="B"/>
</VendorAnnotations>
<ModelVariables>
<ScalarVariable name="time" valueReference="0" causality="independent"><Real/></ScalarVariable>
<ScalarVariable name="p[1]" valueReference="1" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
<ScalarVariable name="p[2]" valueReference="2" causality="parameter" variability="fixed"><Real start="2e0"/></ScalarVariable>
<ScalarVariable name="u" valueReference="3" causality="input"><Real start="0"/></ScalarVariable>
<ScalarVariable name="n" valueReference="4" causality="parameter" variability="fixed"><Integer start="2" min="0" max="10"/></ScalarVariable>
<ScalarVariable name="c" valueReference="5" causality="parameter" variability="tunable"><Enumeration declaredType="Choice" start="1"/></ScalarVariable>
<ScalarVariable name="g" valueReference="6" variability="constant"><Real start="9.81"/></ScalarVariable>
<ScalarVariable name="k" valueReference="7" causality="calculatedParameter" variability="fixed"><Real/></ScalarVariable>
<ScalarVariable name="x" valueReference="8" initial="exact"><Real declaredType="Length" start="1" reinit="true"/></ScalarVariable>
<ScalarVariable name="der(x)" valueReference="9"><Real unit="m/s" derivative="9"/></ScalarVariable>
<ScalarVariable name="y" valueReference="8" causality="output"><Real unit="m"/></ScalarVariable>
<ScalarVariable name="b" valueReference="10" causality="output" variability="discrete"><Boolean/></ScalarVariable>
<!-- more -->
</ModelVariables>
<ModelStructure>
<Outputs>
<Unknown index="11" dependencies="9" dependenciesKind="constant"/>
<Unknown index="12" dependencies="1 4"/>
</Outputs>
<Derivatives>
<Unknown index="10" dependencies="4 9" dependenciesKind="dependent fixed"/>
</Derivatives>
<InitialUnknowns>
<Unknown index="8" dependencies="2 3"/>
<Unknown index="10"/>
<Unknown index="11"/>
<Unknown index="12"/>
</InitialUnknowns>
</ModelStructure>
</fmiModelDescription>
"""

SOUND_3 = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="M" instantiationToken="(1)"
 generationDateAndTime="2026-01-02T03:04:05Z" variableNamingConvention="structured">
<ModelExchange modelIdentifier="M" canGetAndSetFMUState="true" canSerializeFMUState="true"/>
<CoSimulation modelIdentifier="M" providesIntermediateUpdate="true" canReturnEarlyAfterIntermediateUpdate="true" hasEventMode="true"/>
<ScheduledExecution modelIdentifier="M"/>
{_UNITS}
<TypeDefinitions>
<Float64Type name="Length" unit="m" displayUnit="mm" min="-10" max="10" nominal="2"/>
<EnumerationType name="Choice">
<Item name="a" value="1"/>
<Item name="b" value="2"/></EnumerationType>
</TypeDefinitions>
{_MIDDLE}
<ModelVariables>
<Float64 name="time" valueReference="0" causality="independent"/>
<UInt64 name="size" valueReference="1" causality="structuralParameter" start="3"/>
<Float64 name="p" valueReference="2" causality="parameter" start="1 2 3">
<Dimension valueReference="1"/></Float64>
<Float64 name="q" valueReference="3" causality="parameter" start="1">
<Dimension start="2"/></Float64>
<Float64 name="u" valueReference="4" causality="input" start="0" intermediateUpdate="true"/>
<Float64 name="x" valueReference="5" initial="exact" declaredType="Length" start="1" reinit="true">
<Alias name="position" displayUnit="km"/></Float64>
<Float64 name="der(x)" valueReference="6" unit="m/s" derivative="5"/>
<Float64 name="y" valueReference="7" causality="output" unit="m"/>
<Int8 name="n" valueReference="8" causality="parameter" start="2" min="0" max="10"/>
<Enumeration name="c" valueReference="9" causality="parameter" declaredType="Choice" start="1"/>
<Clock name="clock" valueReference="10" causality="input" intervalVariability="constant" intervalDecimal="0.1" priority="1"/>
<Clock name="tick" valueReference="11" causality="output" intervalVariability="triggered"/>
<Float64 name="s" valueReference="12" variability="discrete" initial="exact" start="0" clocks="10" previous="13"/>
<Float64 name="previous_s" valueReference="13" variability="discrete" initial="exact" start="0" clocks="10"/>
<Float64 name="z" valueReference="14"/>
<Float64 name="k" valueReference="15" causality="calculatedParameter"/>
<String name="texts" valueReference="16" causality="parameter">
<Dimension start="2"/><Start value="a"/><Start value="b c"/></String>
<!-- more -->
</ModelVariables>
<ModelStructure>
<Output valueReference="7" dependencies="5" dependenciesKind="constant"/>
<Output valueReference="11" dependencies="10"/>
<ContinuousStateDerivative valueReference="6" dependencies="4 5 2" dependenciesKind="dependent fixed dependent"/>
<ClockedState valueReference="12"/>
<InitialUnknown valueReference="6"/>
<InitialUnknown valueReference="7"/>
<InitialUnknown valueReference="11"/>
<InitialUnknown valueReference="15" dependencies="2 8"/>
<EventIndicator valueReference="14"/>
</ModelStructure>
</fmiModelDescription>
"""
