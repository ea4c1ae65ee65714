within MechanismsTest;
model HeatedBearing "Bearing whose friction heats its housing"
  import Modelica.Units.SI;
  Modelica.Mechanics.Rotational.Sources.Torque drive;
  Modelica.Mechanics.Rotational.Components.Inertia rotor(J=0.01, phi(start=0, fixed=true), w(start=80, fixed=true));
  Mechanisms.Friction.Rotational.Stribeck bearing(useHeatPort=true, coulombTorque=0.2, staticTorque=0.3);
  Modelica.Thermal.HeatTransfer.Components.HeatCapacitor housing(C=40, T(start=293.15, fixed=true));
  output SI.Energy stored = 0.5*rotor.J*rotor.w^2 + housing.C*(housing.T - 293.15);
  output SI.Energy work(start=32, fixed=true);
equation
  drive.tau = 0.05*sin(3*time);
  connect(drive.flange, rotor.flange_a);
  connect(rotor.flange_b, bearing.flange_a);
  connect(bearing.heatPort, housing.port);
  der(work) = drive.tau*rotor.w;
  annotation (experiment(StopTime=4, Tolerance=1e-9, Interval=0.002));
end HeatedBearing;
