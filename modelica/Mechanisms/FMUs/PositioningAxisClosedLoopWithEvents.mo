within Mechanisms.FMUs;
model PositioningAxisClosedLoopWithEvents "Linear positioning axis under position control, friction with true sticking"
  extends DriveTrains.PositioningAxisWithEvents;
  extends PartialPositionLoop;
equation
  connect(drive.flange, flange_a)
    annotation (Line(points={{-70,-40},{-60,-40},{-60,-14},{-100,-14},{-100,0}}, color={0,127,0}));
  connect(qd, controller.qd) annotation (Line(points={{110,40},{-88,40},{-88,54},{-82,54}}, color={0,0,127}));
  connect(force, drive.f) annotation (Line(points={{110,-80},{-98,-80},{-98,-40},{-92,-40}}, color={0,0,127}));
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.PositioningAxisWithEvents\">PositioningAxisWithEvents</a> in a position
loop with a continuous controller. The recorded controller of the benchmark runs at 1 kHz and takes the speed from
differences of the position:
<a href=\"modelica://Mechanisms.FMUs.PositioningAxisDelayedLoop\">PositioningAxisDelayedLoop</a>.
</p>
</html>"));
end PositioningAxisClosedLoopWithEvents;
