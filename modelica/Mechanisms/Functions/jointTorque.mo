within Mechanisms.Functions;
function jointTorque "Torques on the joints of an arm by the axes that drive them"
  extends Modelica.Icons.Function;
  input Real coupling[:, :] "Turns of axis i per turn of joint j < i";
  input Real axis[size(coupling, 1)] "Torques of the axes";
  output Real joint[size(coupling, 1)] "Torques on the joints";
algorithm
  for j in 1:size(coupling, 1) loop
    joint[j] := axis[j];
    for i in j + 1:size(coupling, 1) loop
      joint[j] := joint[j] + coupling[i, j]*axis[i];
    end for;
  end for;
  annotation (Documentation(info="<html>
<p>
<code>joint[j] = axis[j] + sum(coupling[i,j]*axis[i] for i &gt; j)</code>, which does the same work as the axes in
<a href=\"modelica://Mechanisms.Functions.axisMotion\">axisMotion</a>.
</p>
</html>"));
end jointTorque;
