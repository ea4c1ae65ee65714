within Mechanisms.FMUs;
model SliderCrankForward "Slider-crank driven by a crank torque, with smooth friction"
  extends Linkages.SliderCrank;
  parameter SI.Angle q_start = 0.5 "Crank angle at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter SI.AngularVelocity qd_start = 0 "Crank speed at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Blocks.Interfaces.RealInput tau(final quantity="Torque", final unit="N.m", start=0) "Crank torque"
    annotation (Placement(transformation(extent={{-140,-60},{-100,-20}})));
  Modelica.Blocks.Interfaces.RealOutput q(
    final quantity="Angle",
    final unit="rad",
    displayUnit="deg",
    start=q_start, fixed=true) "Crank angle, zero with the crank pin farthest along the guide"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Modelica.Blocks.Interfaces.RealOutput qd(
    final quantity="AngularVelocity",
    final unit="rad/s",
    start=qd_start, fixed=true) "Crank speed"
    annotation (Placement(transformation(extent={{100,-90},{120,-70}})));
  Modelica.Blocks.Interfaces.RealOutput qdd(final quantity="AngularAcceleration", final unit="rad/s2")
    "Crank acceleration"
    annotation (Placement(transformation(extent={{100,-110},{120,-90}})));
  Modelica.Mechanics.Rotational.Sources.Torque torque "Torque of the crank"
    annotation (Placement(transformation(extent={{-86,-50},{-66,-30}})));
equation
  connect(tau, torque.tau) annotation (Line(points={{-120,-40},{-88,-40}}, color={0,0,127}));
  connect(torque.flange, crank)
    annotation (Line(points={{-66,-40},{-58,-40},{-58,-14},{-100,-14},{-100,0}}, color={0,0,0}));
  q = linkage.q;
  qd = linkage.qd;
  qdd = linkage.qdd;
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Linkages.SliderCrank\">SliderCrank</a> under a given crank torque; states are crank
angle and speed.
</p>
</html>"));
end SliderCrankForward;
