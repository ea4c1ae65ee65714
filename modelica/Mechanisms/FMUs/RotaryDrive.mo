within Mechanisms.FMUs;
model RotaryDrive "Geared drive with elastic shaft and smooth friction on both sides"
  extends DriveTrains.GearedDrive;
  Modelica.Blocks.Interfaces.RealInput motorTorque(final quantity="Torque", final unit="N.m", start=0) "Motor torque"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Mechanics.Rotational.Sources.Torque torque "Torque of the motor"
    annotation (Placement(transformation(extent={{-90,-50},{-70,-30}})));
equation
  connect(motorTorque, torque.tau) annotation (Line(points={{-120,0},{-98,0},{-98,-40},{-92,-40}}, color={0,0,127}));
  connect(torque.flange, flange_a)
    annotation (Line(points={{-70,-40},{-64,-40},{-64,-14},{-100,-14},{-100,0}}, color={0,0,0}));
  annotation (
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.GearedDrive\">GearedDrive</a> under a given motor torque.
</p>
</html>"));
end RotaryDrive;
