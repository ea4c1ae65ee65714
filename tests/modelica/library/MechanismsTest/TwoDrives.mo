within MechanismsTest;
model TwoDrives "Two rotary drives on one load, one with LuGre friction"
  import Modelica.Units.SI;
  Modelica.Mechanics.Rotational.Sources.Torque torque[2];
  Mechanisms.DriveTrains.GearedDrive first(loadInertia=0.3);
  Mechanisms.DriveTrains.GearedDriveWithLuGreFriction second(loadInertia=0.2,
    loadAngle(fixed=false), loadSpeed(fixed=false));
  output SI.Energy stored = first.kineticEnergy + first.potentialEnergy + second.kineticEnergy + second.potentialEnergy;
  output SI.Energy work(start=0, fixed=true);
equation
  torque.tau = {0.4*sin(5*time), 0.3*sin(7*time)};
  connect(torque[1].flange, first.flange_a);
  connect(torque[2].flange, second.flange_a);
  connect(first.flange_b, second.flange_b);
  der(work) = first.inputPower + second.inputPower - first.dissipatedPower - second.dissipatedPower;
  annotation (experiment(StopTime=4, Tolerance=1e-9, Interval=0.002));
end TwoDrives;
