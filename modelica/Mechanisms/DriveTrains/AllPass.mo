within Mechanisms.DriveTrains;
block AllPass "Delay as an all-pass of first order"
  extends Modelica.Blocks.Interfaces.SISO;
  parameter SI.Time delay(min=1e-6) = 1e-3 "Delay"
    annotation (Dialog(group="Delay"));
  Real x(start=0, fixed=true) "State, a low-pass of the input";
equation
  0.5*delay*der(x) = u - x;
  y = 2*x - u;
  annotation (Documentation(info="<html>
<p>
<code>y/u = (1 - s*delay/2)/(1 + s*delay/2)</code>, the Pad&eacute; approximation of a delay. Its magnitude is 1 at
all frequencies; its phase is that of the delay within 5 % up to a frequency of an eighth of <code>1/delay</code>.
</p>
</html>"));
end AllPass;
