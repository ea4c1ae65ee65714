within Mechanisms.Examples;
model RotaryDriveReversing "Rotary drive with smooth and with LuGre friction under the same reversing torque"
  extends Modelica.Icons.Example;
  Sources.SumOfSines torque(amplitude={0.6, 0.25, 0}, omega={3, 17, 1}) "Reversing motor torque"
    annotation (Placement(transformation(extent={{-70,-10},{-50,10}})));
  FMUs.RotaryDrive smoothDrive "Smooth friction on both sides"
    annotation (Placement(transformation(extent={{0,20},{40,60}})));
  FMUs.RotaryDriveWithLuGreFriction lugreDrive "LuGre friction on the load side"
    annotation (Placement(transformation(extent={{0,-60},{40,-20}})));
equation
  connect(torque.y, smoothDrive.motorTorque)
    annotation (Line(points={{-49,0},{-30,0},{-30,40},{-4,40}}, color={0,0,127}));
  connect(torque.y, lugreDrive.motorTorque)
    annotation (Line(points={{-49,0},{-30,0},{-30,-40},{-4,-40}}, color={0,0,127}));
  annotation (
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>Motor and load change roles several times, the load sticks at reversals.</p>
</html>"));
end RotaryDriveReversing;
