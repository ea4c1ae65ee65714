within Mechanisms.Examples;
model RotaryDriveReversing "Rotary drive with smooth and with LuGre friction under the same reversing torque"
  extends Icons.Example;
  DriveTrains.RotaryDrive smoothDrive(motorTorque=0.6*sin(3*time) + 0.25*sin(17*time)) "Smooth friction on both sides";
  DriveTrains.RotaryDriveWithLuGreFriction lugreDrive(motorTorque=smoothDrive.motorTorque) "LuGre friction on the load side";
  annotation (
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>Motor and load change roles several times, the load sticks at reversals.</p>
</html>"));
end RotaryDriveReversing;
