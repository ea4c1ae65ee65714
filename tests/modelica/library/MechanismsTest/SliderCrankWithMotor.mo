within MechanismsTest;
model SliderCrankWithMotor "Slider-crank driven by its direct-current motor"
  import Modelica.Units.SI;
  Modelica.Blocks.Sources.Ramp ramp(height=12, duration=0.5);
  Modelica.Electrical.Analog.Sources.SignalVoltage supply;
  Modelica.Electrical.Analog.Basic.Resistor resistor(R=0.8);
  Modelica.Electrical.Analog.Basic.Inductor inductor(L=2e-3, i(start=0, fixed=true));
  Modelica.Electrical.Analog.Basic.RotationalEMF emf(k=0.12);
  Modelica.Electrical.Analog.Basic.Ground ground;
  Modelica.Mechanics.Rotational.Components.Inertia flywheel(J=2e-3, phi(start=0.5, fixed=true), w(start=0, fixed=true));
  Mechanisms.Linkages.SliderCrank linkage;
  output SI.Energy stored =
    0.5*inductor.L*inductor.i^2 + 0.5*flywheel.J*flywheel.w^2 + linkage.kineticEnergy + linkage.potentialEnergy;
  output SI.Energy work "Work of the supply less what is lost";
initial equation
  work = stored;
equation
  connect(ramp.y, supply.v);
  connect(supply.p, resistor.p);
  connect(resistor.n, inductor.p);
  connect(inductor.n, emf.p);
  connect(emf.n, supply.n);
  connect(supply.n, ground.p);
  connect(emf.flange, flywheel.flange_a);
  connect(flywheel.flange_b, linkage.crank);
  der(work) = ramp.y*inductor.i - resistor.LossPower - linkage.friction.lossPower;
  annotation (experiment(StopTime=4, Tolerance=1e-9, Interval=0.002));
end SliderCrankWithMotor;
