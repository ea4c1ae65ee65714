within Mechanisms.Examples;
model OscillatorStep "Step response of the mass-spring-damper in both forms"
  extends Modelica.Icons.Example;
  Modelica.Blocks.Sources.Constant force(k=0.4) "Step of the force, 1 mm times the stiffness of 400 N/m"
    annotation (Placement(transformation(extent={{-70,30},{-50,50}})));
  Modelica.Blocks.Sources.Constant specificForce(k=0.13333333333333333) "The same over the mass of 3 kg"
    annotation (Placement(transformation(extent={{-70,-50},{-50,-30}})));
  FMUs.MassSpringDamper physical(d=5) "With mass, damping and stiffness"
    annotation (Placement(transformation(extent={{-10,20},{30,60}})));
  FMUs.MassSpringDamperNormalForm normal(zeta=0.07216878364870322) "With damping ratio and natural frequency"
    annotation (Placement(transformation(extent={{-10,-60},{30,-20}})));
  output SI.Position difference "Position of the normal form less that of the physical form";
equation
  connect(force.y, physical.F) annotation (Line(points={{-49,40},{-14,40}}, color={0,0,127}));
  connect(specificForce.y, normal.u) annotation (Line(points={{-49,-40},{-14,-40}}, color={0,0,127}));
  difference = normal.x - physical.x;
  annotation (
    experiment(StopTime=10.9, Tolerance=1e-9, Interval=0.004),
    Documentation(info="<html>
<p>
A step of the force bends both oscillators by one millimetre over twenty periods. <code>difference</code> stays zero.
</p>
</html>"));
end OscillatorStep;
