within Mechanisms.FMUs;
model PositioningAxisDelayedLoop "Linear positioning axis under position control by a sampled controller"
  extends DriveTrains.PositioningAxis;
  extends PartialPositionLoop;
  parameter SI.Time speedDelay(min=1e-6) = 1e-3 "Delay of the measured speed"
    annotation (Dialog(group="Delays"));
  parameter SI.Time driveDelay(min=1e-6) = 5e-4 "Delay from the computed to the acting force"
    annotation (Dialog(group="Delays"));
  Modelica.Blocks.Interfaces.RealOutput driveForce(final quantity="Force", final unit="N") "Force that acts on the axis"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  DriveTrains.AllPass measuredSpeed(delay=speedDelay, x(start=qd_start, nominal=0.1)) "Speed as the controller knows it"
    annotation (Placement(transformation(extent={{-20,30},{-40,50}})));
  DriveTrains.AllPass actingForce(delay=driveDelay, x(nominal=100)) "Force as it acts"
    annotation (Placement(transformation(extent={{-10,-70},{10,-50}})));
equation
  connect(drive.flange, flange_a)
    annotation (Line(points={{-70,-40},{-60,-40},{-60,-14},{-100,-14},{-100,0}}, color={0,127,0}));
  connect(qd, measuredSpeed.u) annotation (Line(points={{110,40},{-18,40}}, color={0,0,127}));
  connect(measuredSpeed.y, controller.qd)
    annotation (Line(points={{-41,40},{-88,40},{-88,54},{-82,54}}, color={0,0,127}));
  connect(force, actingForce.u) annotation (Line(points={{110,-80},{-20,-80},{-20,-60},{-12,-60}}, color={0,0,127}));
  connect(actingForce.y, drive.f)
    annotation (Line(points={{11,-60},{20,-60},{20,-76},{-98,-76},{-98,-40},{-92,-40}}, color={0,0,127}));
  connect(actingForce.y, driveForce) annotation (Line(points={{11,-60},{90,-60},{90,60},{110,60}}, color={0,0,127}));
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.PositioningAxis\">PositioningAxis</a> in a position loop whose controller
takes the speed from differences of samples and whose force acts later, both as an
<a href=\"modelica://Mechanisms.DriveTrains.AllPass\">all-pass</a>.
</p>
</html>"));
end PositioningAxisDelayedLoop;
