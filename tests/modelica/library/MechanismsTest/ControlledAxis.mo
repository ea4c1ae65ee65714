within MechanismsTest;
model ControlledAxis "Positioning axis with a controller of blocks of the standard library"
  import Modelica.Units.SI;
  Modelica.Blocks.Sources.Step reference(height=0.02, startTime=0.1);
  Modelica.Blocks.Continuous.FirstOrder filter(T=0.05, initType=Modelica.Blocks.Types.Init.InitialOutput, y_start=0);
  Modelica.Blocks.Math.Feedback error;
  Modelica.Blocks.Continuous.PI controller(k=20000, T=0.3, initType=Modelica.Blocks.Types.Init.InitialState, x_start=0);
  Modelica.Mechanics.Translational.Sources.Force drive;
  Mechanisms.DriveTrains.PositioningAxis axis(carriage(s(start=0, fixed=true), v(start=0, fixed=true)),
    viscousFriction=900);
  Modelica.Mechanics.Translational.Sensors.PositionSensor sensor;
  output SI.Energy stored = axis.kineticEnergy + axis.potentialEnergy;
  output SI.Energy work(start=0, fixed=true);
  output Real position = sensor.s;
equation
  connect(reference.y, filter.u);
  connect(filter.y, error.u1);
  connect(error.y, controller.u);
  connect(controller.y, drive.f);
  connect(drive.flange, axis.flange_a);
  connect(axis.flange_a, sensor.flange);
  connect(sensor.s, error.u2);
  der(work) = axis.inputPower - axis.dissipatedPower;
  annotation (experiment(StopTime=4, Tolerance=1e-9, Interval=0.002));
end ControlledAxis;
