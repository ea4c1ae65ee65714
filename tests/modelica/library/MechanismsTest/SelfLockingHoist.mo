within MechanismsTest;
model SelfLockingHoist "Hoist whose gear holds the load at rest"
  import Modelica.Units.SI;
  Modelica.Mechanics.Rotational.Sources.Torque drive;
  Modelica.Mechanics.Rotational.Components.Inertia motor(J=1e-3, phi(start=0, fixed=true), w(start=0, fixed=true));
  Mechanisms.DriveTrains.EfficiencyGearWithEvents gear(ratio=20, efficiency=0.6, coulombTorque=0.1);
  Modelica.Mechanics.Rotational.Components.IdealGearR2T drum(ratio=10);
  Modelica.Mechanics.Translational.Components.Mass load(m=15);
  Modelica.Mechanics.Translational.Sources.ConstantForce weight(f_constant=-15*9.81);
  output SI.Energy stored = 0.5*motor.J*motor.w^2 + 0.5*load.m*load.v^2 + load.m*9.81*load.s;
  output SI.Energy work(start=0, fixed=true);
  output Real speed = motor.w;
equation
  drive.tau = if time < 1 then 0.6 elseif time < 3 then 2 else 0.6;
  connect(drive.flange, motor.flange_a);
  connect(motor.flange_b, gear.flange_a);
  connect(gear.flange_b, drum.flangeR);
  connect(drum.flangeT, load.flange_a);
  connect(weight.flange, load.flange_b);
  der(work) = drive.tau*motor.w - gear.lossPower;
  annotation (experiment(StopTime=4, Tolerance=1e-9, Interval=0.002));
end SelfLockingHoist;
