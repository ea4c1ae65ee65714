within MechanismsTest;
model SuspendedHousing "Drive whose housing is suspended elastically and takes the reaction of friction and gear"
  import Modelica.Units.SI;
  Modelica.Mechanics.Rotational.Sources.Torque drive(useSupport=true);
  Modelica.Mechanics.Rotational.Components.Inertia motor(J=1e-3, phi(start=0, fixed=true), w(start=0, fixed=true));
  Mechanisms.Friction.Rotational.CoulombViscous bearing(useSupport=true, coulombTorque=0.05);
  Mechanisms.DriveTrains.EfficiencyGear gear(useSupport=true, ratio=5, efficiency=0.9, powerWidth=0.1);
  Modelica.Mechanics.Rotational.Components.Inertia load(J=0.05);
  Modelica.Mechanics.Rotational.Components.Inertia housing(J=0.02, phi(start=0, fixed=true), w(start=0, fixed=true));
  Modelica.Mechanics.Rotational.Components.SpringDamper mount(c=300, d=0.2);
  Modelica.Mechanics.Rotational.Components.Fixed ground;
  output SI.Energy stored =
    0.5*motor.J*motor.w^2 + 0.5*load.J*load.w^2 + 0.5*housing.J*housing.w^2 + 0.5*mount.c*mount.phi_rel^2;
  output SI.Energy work(start=0, fixed=true);
equation
  drive.tau = 0.3*sin(9*time) + 0.1;
  connect(drive.flange, motor.flange_a);
  connect(motor.flange_b, bearing.flange_a);
  connect(bearing.flange_b, gear.flange_a);
  connect(gear.flange_b, load.flange_a);
  connect(drive.support, housing.flange_a);
  connect(bearing.support, housing.flange_a);
  connect(gear.support, housing.flange_a);
  connect(housing.flange_b, mount.flange_a);
  connect(mount.flange_b, ground.flange);
  der(work) = drive.tau*(motor.w - housing.w) - bearing.lossPower - gear.lossPower - mount.lossPower;
  annotation (experiment(StopTime=4, Tolerance=1e-9, Interval=0.002));
end SuspendedHousing;
