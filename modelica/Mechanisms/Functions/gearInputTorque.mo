within Mechanisms.Functions;
function gearInputTorque "Torque on the motor side of a gear whose efficiency depends on the direction of power"
  extends Modelica.Icons.Function;
  input SI.Torque tauLoad "Torque that the gear applies to the load";
  input SI.AngularVelocity wLoad "Speed of the load";
  input SI.DimensionlessRatio ratio "Gear ratio, motor speed over load speed";
  input SI.Efficiency efficiency "Gear efficiency in either direction, in (0, 1]";
  input SI.Power powerWidth "Width of the smooth direction of power";
  output SI.Torque tauMotor "Torque that the motor applies to the gear";
algorithm
  tauMotor := tauLoad/(ratio*efficiency^tanh(tauLoad*wLoad/powerWidth));
  annotation (
    Inline=true,
    smoothOrder=10,
    Documentation(info="<html>
<p>
<code>tauMotor = tauLoad/(ratio*efficiency^s)</code> with <code>s = tanh(tauLoad*wLoad/powerWidth)</code>: the motor
supplies <code>tauLoad*wLoad/efficiency</code> while it drives the load, and receives
<code>tauLoad*wLoad*efficiency</code> while the load drives it. The lost power
<code>tauMotor*ratio*wLoad - tauLoad*wLoad</code> is never negative for <code>efficiency &lt;= 1</code>.
</p>
</html>"));
end gearInputTorque;
