within Mechanisms.Friction.Functions;
function smoothCoulomb "Coulomb friction with a smooth sign"
  extends Modelica.Icons.Function;
  input Real v "Sliding speed";
  input Real level "Friction at full sliding";
  input Real width "Speed at which tanh(1) = 76 % of the level is reached";
  output Real f "Friction, has the sign of v";
algorithm
  f := level*tanh(v/width);
  annotation (
    Inline=true,
    smoothOrder=10,
    Documentation(info="<html>
<p>
<code>f = level*tanh(v/width)</code>. At rest the body creeps instead of sticking: a load below the level moves it with
a speed of the order of <code>width</code>.
</p>
</html>"));
end smoothCoulomb;
