within MechanismsTest;
model BreakAway "Shaft with friction that sticks, under a torque that breaks it away"
  import Modelica.Units.SI;
  Modelica.Mechanics.Rotational.Sources.Torque drive;
  Modelica.Mechanics.Rotational.Components.Inertia shaft(J=0.5, phi(start=0, fixed=true), w(start=0, fixed=true));
  Mechanisms.Friction.Rotational.CoulombViscousWithEvents bearing(coulombTorque=1, viscousFriction=0.2);
  output SI.Energy stored = 0.5*shaft.J*shaft.w^2;
  output SI.Energy work(start=0, fixed=true) "Work of the drive less what is lost";
  output SI.AngularVelocity speed = shaft.w;
equation
  drive.tau = 2*sin(3*time);
  connect(drive.flange, shaft.flange_a);
  connect(shaft.flange_b, bearing.flange_a);
  der(work) = drive.tau*shaft.w - bearing.lossPower;
  annotation (experiment(StopTime=4, Tolerance=1e-9, Interval=0.002));
end BreakAway;
