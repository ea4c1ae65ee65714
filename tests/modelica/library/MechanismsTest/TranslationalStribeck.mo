within MechanismsTest;
model TranslationalStribeck "Stribeck friction of a slide that moves at a given speed"
  extends PartialTranslationalFriction(redeclare Mechanisms.Friction.Translational.Stribeck friction);
  annotation (experiment(StopTime=1, Tolerance=1e-9, Interval=0.001));
end TranslationalStribeck;
