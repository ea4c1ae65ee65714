within Mechanisms;
package Friction "Friction laws: Coulomb, Stribeck and LuGre, translational and rotational"
  extends Modelica.Icons.Package;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-56,-26},{60.2,-26}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{0,-82},{0,34.2}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-56,-70.8},{-28,-55.4},{-14,-55.4},{-5.6,-69.4},{-1.4,-54},{1.4,2},{5.6,17.4},{14,3.4},
          {28,3.4},{56,18.8}}, color={0,0,127}, thickness=0.35)}),
    Documentation(info="<html>
<p>
Each element is a rigid shaft or slide between two flanges, with friction against the support, or against the ground
where the support is not used. The loss heats the heat port where that is used. The force and the torque version of a
law share their equations, which stand in <a href=\"modelica://Mechanisms.Friction.Functions\">Functions</a>.
</p>
<table border=\"1\" cellspacing=\"0\" cellpadding=\"2\">
<tr><th>Class</th><th>Law</th><th>States</th></tr>
<tr><td>CoulombViscous</td><td>F = coulombForce*tanh(v/speedWidth) + viscousFriction*v</td><td>0</td></tr>
<tr><td>Stribeck</td><td>F = (coulombForce + (staticForce - coulombForce)*exp(-(v/stribeckSpeed)^2))*tanh(v/speedWidth)
+ viscousFriction*v</td><td>0</td></tr>
<tr><td>LuGre</td><td>F = sigma0*z + sigma1*z' + viscousFriction*v</td><td>1</td></tr>
<tr><td>CoulombViscousWithEvents</td><td>F = coulombForce*sign(v) + viscousFriction*v, sticks</td><td>0</td></tr>
</table>
<p>
Every element has <code>storedEnergy</code> and <code>lossPower</code> such that
<code>F*v = lossPower + der(storedEnergy)</code>.
</p>
</html>"));
end Friction;
