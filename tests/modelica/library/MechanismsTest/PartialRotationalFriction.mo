within MechanismsTest;
partial model PartialRotationalFriction "Friction between a shaft that moves at a given speed and its bearing"
  Modelica.Blocks.Interfaces.RealInput w(unit="rad/s", start=0) "Speed";
  Modelica.Blocks.Interfaces.RealOutput tau(unit="N.m") = friction.tau "Friction";
  Modelica.Blocks.Interfaces.RealOutput storedEnergy(unit="J") = friction.storedEnergy "Elastic energy";
  Modelica.Blocks.Interfaces.RealOutput lossPower(unit="W") = friction.lossPower "Dissipated power";
  Modelica.Mechanics.Rotational.Sources.Speed move(final exact=true) "Motion";
  replaceable Mechanisms.Friction.Interfaces.PartialRotationalFriction friction "Friction";
equation
  connect(w, move.w_ref);
  connect(move.flange, friction.flange_a);
end PartialRotationalFriction;
