within Mechanisms.Examples;
model CompareFriction "Three equal masses under the same force with three friction laws"
  extends Modelica.Icons.Example;
  parameter SI.Mass m(min=1e-12) = 1 "Mass of each slide"
    annotation (Dialog(group="Mass and load"));
  Friction.TranslationalCoulombViscous coulombViscous(speedWidth=1e-4) "Smooth Coulomb friction"
    annotation (Placement(transformation(extent={{0,44},{36,80}})));
  Friction.TranslationalStribeck stribeck "Stribeck friction"
    annotation (Placement(transformation(extent={{0,-18},{36,18}})));
  Friction.TranslationalLuGre luGre "LuGre friction"
    annotation (Placement(transformation(extent={{0,-80},{36,-44}})));
  output SI.Position s[3](each start=0, each fixed=true, each nominal=1e-4) "Positions";
  output SI.Velocity v[3](each start=0, each fixed=true, each nominal=1e-3) "Velocities";
  output SI.Force force "Driving force";
  Sources.SumOfSines drive(amplitude={3, 0, 0}, omega={3, 1, 1}) "Driving force of each slide"
    annotation (Placement(transformation(extent={{-70,-10},{-50,10}})));
equation
  force = drive.y;
  coulombViscous.v = v[1];
  stribeck.v = v[2];
  luGre.v = v[3];
  der(s) = v;
  m*der(v[1]) = force - coulombViscous.f;
  m*der(v[2]) = force - stribeck.f;
  m*der(v[3]) = force - luGre.f;
  annotation (
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-48,0},{-30,0},{-30,62},{-6,62}}, color={128,128,128}, pattern=LinePattern.Dash),
        Line(points={{-30,0},{-6,0}}, color={128,128,128}, pattern=LinePattern.Dash),
        Line(points={{-30,0},{-30,-62},{-6,-62}}, color={128,128,128}, pattern=LinePattern.Dash),
        Text(extent={{-100,110},{40,100}}, textColor={128,128,128},
          textString="m*der(v) = force - friction, for each slide")}),
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.002),
    Documentation(info="<html>
<p>
While sliding, the three positions agree but for the Stribeck effect; at standstill the laws without a state creep, and
LuGre deflects elastically.
</p>
</html>"));
end CompareFriction;
