within MechanismsTest;
model ControlledDelta "Delta robot under its controllers, and the balance of its energy"
  import Modelica.Units.SI;
  extends Mechanisms.Examples.DeltaWithController;
  output SI.Energy stored = robot.kineticEnergy + robot.potentialEnergy;
  output SI.Energy work(start=0, fixed=true);
  output SI.Angle q[3] = robot.linkage.q;
  output SI.Torque tau[3] = robot.motor.flange_a.tau;
equation
  der(work) = robot.inputPower - robot.dissipatedPower;
  annotation (experiment(StopTime=4, Tolerance=1e-9, Interval=0.002));
end ControlledDelta;
