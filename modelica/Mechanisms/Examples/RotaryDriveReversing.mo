within Mechanisms.Examples;
model RotaryDriveReversing "Rotary drive with smooth and with LuGre friction under the same reversing torque"
  extends Icons.Example;
  DriveTrains.RotaryDrive smoothDrive "Smooth friction on both sides";
  DriveTrains.RotaryDriveWithLuGreFriction lugreDrive "LuGre friction on the load side";
equation
  smoothDrive.motorTorque = 0.6*sin(3*time) + 0.25*sin(17*time);
  lugreDrive.motorTorque = smoothDrive.motorTorque;
  annotation (
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>Motor and load change roles several times, the load sticks at reversals.</p>
</html>"));
end RotaryDriveReversing;
