within Mechanisms.FMUs;
partial model PartialPositionLoop "Position control of a flange; the subclass has the machine and closes the loop"
  parameter Real gtau(unit="N/V") = 35.15065188248547 "Drive gain, force over control voltage"
    annotation (Dialog(group="Control"));
  parameter Real positionGain(unit="1/s") = 160.18 "Position gain, kp"
    annotation (Dialog(group="Control"));
  parameter Real speedGain(unit="V.s/m") = 243.45 "Speed gain, kv"
    annotation (Dialog(group="Control"));
  parameter SI.Voltage voltageLimit(min=Modelica.Constants.eps) = 10 "Limit of the control voltage, vMax"
    annotation (Dialog(group="Control"));
  parameter SI.Voltage voltageWidth(min=Modelica.Constants.eps) = 1e-3 "Width of the rounded corners of the limit"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Position q_start = 0 "Position at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter SI.Velocity qd_start = 0 "Speed at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Blocks.Interfaces.RealInput q_ref(final quantity="Length", final unit="m", start=0) "Reference position"
    annotation (Placement(transformation(extent={{-140,40},{-100,80}})));
  Modelica.Blocks.Interfaces.RealOutput q(
    final quantity="Length",
    final unit="m",
    start=q_start,
    fixed=true,
    nominal=0.01) "Position"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
  Modelica.Blocks.Interfaces.RealOutput qd(
    final quantity="Velocity",
    final unit="m/s",
    start=qd_start,
    fixed=true,
    nominal=0.1) "Speed"
    annotation (Placement(transformation(extent={{100,30},{120,50}})));
  Modelica.Blocks.Interfaces.RealOutput qdd(final quantity="Acceleration", final unit="m/s2") "Acceleration"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Modelica.Blocks.Interfaces.RealOutput voltage(final quantity="ElectricPotential", final unit="V") "Control voltage"
    annotation (Placement(transformation(extent={{100,-50},{120,-30}})));
  Modelica.Blocks.Interfaces.RealOutput force(final quantity="Force", final unit="N")
    "Force that the control voltage stands for"
    annotation (Placement(transformation(extent={{100,-90},{120,-70}})));
  DriveTrains.PositionController controller(
    positionGain=positionGain,
    speedGain=speedGain,
    voltageLimit=voltageLimit,
    voltageWidth=voltageWidth) "Controller"
    annotation (Placement(transformation(extent={{-80,50},{-60,70}})));
  Modelica.Mechanics.Translational.Sources.Force drive "Force that acts on the machine"
    annotation (Placement(transformation(extent={{-90,-50},{-70,-30}})));
equation
  connect(q_ref, controller.q_ref) annotation (Line(points={{-120,60},{-90,60},{-90,66},{-82,66}}, color={0,0,127}));
  connect(q, controller.q) annotation (Line(points={{110,80},{-88,80},{-88,60},{-82,60}}, color={0,0,127}));
  connect(controller.voltage, voltage) annotation (Line(points={{-59,60},{80,60},{80,-40},{110,-40}}, color={0,0,127}));
  q = drive.flange.s;
  der(q) = qd;
  der(qd) = qdd;
  force = gtau*voltage;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-100,100},{100,-100}}, lineColor={95,95,95})}),
    Documentation(info="<html>
<p>
A <a href=\"modelica://Mechanisms.DriveTrains.PositionController\">PositionController</a> and a drive whose force is
proportional to the control voltage; the current loop is ideal. The subclass connects <code>drive.flange</code> to the
machine, the speed to <code>controller.qd</code> and the force to <code>drive.f</code>. With the default values and
the default <a href=\"modelica://Mechanisms.DriveTrains.PositioningAxis\">PositioningAxis</a> the loop has a damping
ratio of 0.38 at 19 Hz.
</p>
</html>"));
end PartialPositionLoop;
