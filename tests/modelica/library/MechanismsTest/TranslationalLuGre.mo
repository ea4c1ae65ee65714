within MechanismsTest;
model TranslationalLuGre "LuGre friction of a slide that moves at a given speed"
  extends PartialTranslationalFriction(redeclare Mechanisms.Friction.Translational.LuGre friction);
  annotation (experiment(StopTime=1, Tolerance=1e-9, Interval=0.001));
end TranslationalLuGre;
