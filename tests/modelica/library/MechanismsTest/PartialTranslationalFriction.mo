within MechanismsTest;
partial model PartialTranslationalFriction "Friction between a slide that moves at a given speed and its guide"
  Modelica.Blocks.Interfaces.RealInput v(unit="m/s", start=0) "Speed";
  Modelica.Blocks.Interfaces.RealOutput f(unit="N") = friction.f "Friction";
  Modelica.Blocks.Interfaces.RealOutput storedEnergy(unit="J") = friction.storedEnergy "Elastic energy";
  Modelica.Blocks.Interfaces.RealOutput lossPower(unit="W") = friction.lossPower "Dissipated power";
  Modelica.Mechanics.Translational.Sources.Speed move(final exact=true) "Motion";
  replaceable Mechanisms.Friction.Interfaces.PartialTranslationalFriction friction "Friction";
equation
  connect(v, move.v_ref);
  connect(move.flange, friction.flange_a);
end PartialTranslationalFriction;
