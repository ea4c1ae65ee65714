within Mechanisms.Robots;
model AxisCoupling "Shafts of drives that pass through joints on their way"
  extends Icons.Mechanism;
  parameter Integer n(min=1) = 6 "Number of joints"
    annotation (Evaluate=true, Dialog(group="Geometry"));
  parameter Real coupling[n, n](each final unit="1") = zeros(n, n) "Turns of axis i per turn of joint j < i"
    annotation (Dialog(group="Gear"));
  Modelica.Mechanics.Rotational.Interfaces.Flange_a axis[n] "Shafts of the drives"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  Modelica.Mechanics.Rotational.Interfaces.Flange_b joint[n] "Joints"
    annotation (Placement(transformation(extent={{90,-10},{110,10}})));
equation
  axis.phi = Functions.axisMotion(coupling, joint.phi);
  joint.tau = -Functions.jointTorque(coupling, axis.tau);
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-90,40},{90,40}}, color={64,64,64}, thickness=1),
        Line(points={{-90,-40},{90,-40}}, color={64,64,64}, thickness=1),
        Line(points={{20,40},{-20,-40}}, color={90,110,150}, thickness=1, arrow={Arrow.None,Arrow.Filled})}),
    Documentation(info="<html>
<p>
In a wrist the drive of a joint passes through the joints before it, which turn its shaft along:
<code>axis[i].phi = joint[i].phi + sum(coupling[i,j]*joint[j].phi for j &lt; i)</code>. Nothing is lost, so that joint j
carries <code>axis[j].tau + sum(coupling[i,j]*axis[i].tau for i &gt; j)</code>. Elements of <code>coupling</code> on and
above the diagonal have no effect.
</p>
</html>"));
end AxisCoupling;
