within MechanismsTest;
model RotationalStribeck "Stribeck friction of a shaft that moves at a given speed"
  extends PartialRotationalFriction(redeclare Mechanisms.Friction.Rotational.Stribeck friction);
  annotation (experiment(StopTime=1, Tolerance=1e-9, Interval=0.001));
end RotationalStribeck;
