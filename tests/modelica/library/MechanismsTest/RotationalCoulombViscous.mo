within MechanismsTest;
model RotationalCoulombViscous "CoulombViscous friction of a shaft that moves at a given speed"
  extends PartialRotationalFriction(redeclare Mechanisms.Friction.Rotational.CoulombViscous friction);
  annotation (experiment(StopTime=1, Tolerance=1e-9, Interval=0.001));
end RotationalCoulombViscous;
