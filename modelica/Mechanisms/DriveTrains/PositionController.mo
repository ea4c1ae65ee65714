within Mechanisms.DriveTrains;
block PositionController "Proportional control of position and speed, with a limited voltage"
  extends Modelica.Blocks.Icons.Block;
  parameter Real positionGain(unit="1/s") = 160.18 "Position gain, kp"
    annotation (Dialog(group="Control"));
  parameter Real speedGain(unit="V.s/m") = 243.45 "Speed gain, kv"
    annotation (Dialog(group="Control"));
  parameter SI.Voltage voltageLimit(min=Modelica.Constants.eps) = 10 "Limit of the control voltage, vMax"
    annotation (Dialog(group="Control"));
  parameter SI.Voltage voltageWidth(min=Modelica.Constants.eps) = 1e-3 "Width of the rounded corners of the limit"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Modelica.Blocks.Interfaces.RealInput q_ref(final quantity="Length", final unit="m") "Reference position"
    annotation (Placement(transformation(extent={{-140,40},{-100,80}})));
  Modelica.Blocks.Interfaces.RealInput q(final quantity="Length", final unit="m") "Measured position"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealInput qd(final quantity="Velocity", final unit="m/s") "Measured speed"
    annotation (Placement(transformation(extent={{-140,-80},{-100,-40}})));
  Modelica.Blocks.Interfaces.RealOutput voltage(final quantity="ElectricPotential", final unit="V") "Control voltage"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
equation
  voltage = Functions.smoothLimit(speedGain*(positionGain*(q_ref - q) - qd), voltageLimit, voltageWidth);
  annotation (Documentation(info="<html>
<p>
<code>voltage = speedGain*(positionGain*(q_ref - q) - qd)</code>, limited to <code>+-voltageLimit</code> by
<a href=\"modelica://Mechanisms.Functions.smoothLimit\">smoothLimit</a>: no event, and inside the limit no difference
that matters (a fraction of 1e-8 at half the limit).
</p>
</html>"));
end PositionController;
