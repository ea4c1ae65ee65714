within MechanismsTest;
model BeltDrive "Motor, belt and slide with LuGre friction"
  import Modelica.Units.SI;
  Modelica.Blocks.Sources.Sine torque(amplitude=0.4, f=1.3);
  Modelica.Mechanics.Rotational.Sources.Torque drive;
  Modelica.Mechanics.Rotational.Components.Inertia motor(J=2e-4, phi(start=0, fixed=true), w(start=0, fixed=true));
  Modelica.Mechanics.Rotational.Components.Damper bearing(d=1e-3);
  Modelica.Mechanics.Rotational.Components.Fixed housing;
  Modelica.Mechanics.Rotational.Components.IdealGearR2T pulley(ratio=50);
  Modelica.Mechanics.Translational.Components.SpringDamper belt(c=2e4, d=20);
  Modelica.Mechanics.Translational.Components.Mass carriage(m=3, s(start=0, fixed=true), v(start=0, fixed=true));
  Mechanisms.Friction.Translational.LuGre guide(coulombForce=5, staticForce=7, viscousFriction=12);
  output SI.Energy stored =
    0.5*motor.J*motor.w^2 + 0.5*carriage.m*carriage.v^2 + 0.5*belt.c*belt.s_rel^2 + guide.storedEnergy;
  output SI.Energy work(start=0, fixed=true) "Work of the drive less what is lost";
equation
  connect(torque.y, drive.tau);
  connect(drive.flange, motor.flange_a);
  connect(motor.flange_a, bearing.flange_a);
  connect(bearing.flange_b, housing.flange);
  connect(motor.flange_b, pulley.flangeR);
  connect(pulley.flangeT, belt.flange_a);
  connect(belt.flange_b, carriage.flange_a);
  connect(carriage.flange_b, guide.flange_a);
  der(work) = torque.y*motor.w - bearing.lossPower - belt.lossPower - guide.lossPower;
  annotation (experiment(StopTime=4, Tolerance=1e-9, Interval=0.002));
end BeltDrive;
