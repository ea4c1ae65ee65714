within Mechanisms.Functions;
function axisMotion "Motion of the axes that drive the joints of an arm"
  extends Modelica.Icons.Function;
  input Real coupling[:, :] "Turns of axis i per turn of joint j < i";
  input Real joint[size(coupling, 1)] "Motion of the joints: angles, speeds or accelerations";
  output Real axis[size(coupling, 1)] "Motion of the axes";
algorithm
  for i in 1:size(coupling, 1) loop
    axis[i] := joint[i];
    for j in 1:i - 1 loop
      axis[i] := axis[i] + coupling[i, j]*joint[j];
    end for;
  end for;
  annotation (Documentation(info="<html>
<p>
<code>axis[i] = joint[i] + sum(coupling[i,j]*joint[j] for j &lt; i)</code>. The drive of a joint of the wrist passes
through the joints before it, which turn its axis along.
</p>
</html>"));
end axisMotion;
