within Mechanisms.Sources;
model FourierMotion "Position, speed and acceleration of a finite Fourier series"
  extends Modelica.Blocks.Icons.Block;
  parameter SI.AngularVelocity omega(min=1e-9) = 1 "Fundamental frequency"
    annotation (Dialog(group="Signal"));
  parameter Real offset = 0 "Mean position"
    annotation (Dialog(group="Signal"));
  parameter Real sine[6] = {0.1, 0, 0, 0, 0, 0} "Amplitudes of the sine terms of the harmonics 1 to 6"
    annotation (Dialog(group="Signal"));
  parameter Real cosine[6] = {0, 0, 0, 0, 0, 0} "Amplitudes of the cosine terms of the harmonics 1 to 6"
    annotation (Dialog(group="Signal"));
  Modelica.Blocks.Interfaces.RealOutput q "Position, an angle or a length"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Modelica.Blocks.Interfaces.RealOutput qd "Speed, per second of the position"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Modelica.Blocks.Interfaces.RealOutput qdd "Acceleration, per second squared of the position"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
protected
  Real position[6] "Positions of the harmonics";
  Real speed[6] "Speeds of the harmonics";
  Real acceleration[6] "Accelerations of the harmonics";
equation
  for k in 1:6 loop
    position[k] = sine[k]*sin(k*omega*time) + cosine[k]*cos(k*omega*time);
    speed[k] = k*omega*(sine[k]*cos(k*omega*time) - cosine[k]*sin(k*omega*time));
    acceleration[k] = -(k*omega)^2*position[k];
  end for;
  q = offset + sum(position);
  qd = sum(speed);
  qdd = sum(acceleration);
  annotation (
    experiment(StopTime=6.283185307179586, Tolerance=1e-8, Interval=0.01),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-72,0},{48,0}}, color={160,160,160}),
        Line(points={{-72,0},{-60,33},{-51,15},{-40.5,43.5},{-27,-4.5},{-18,10.5},{-6,-37.5},{6,-15},{18,-45},
          {30,7.5},{39,-10.5},{48,0}}, color={0,0,127}, thickness=0.375, smooth=Smooth.Bezier),
        Text(extent={{91.8,65.8},{98,54.2}}, textColor={128,128,128}, textString="q"),
        Text(extent={{85.6,5.8},{98,-5.8}}, textColor={128,128,128}, textString="qd"),
        Text(extent={{79.4,-54.2},{98,-65.8}}, textColor={128,128,128}, textString="qdd")}),
    Documentation(info="<html>
<p>
<code>q = offset + sum(sine[k]*sin(k*omega*t) + cosine[k]*cos(k*omega*t))</code> over six harmonics, and its first and
second derivative. The usual excitation of identification: periodic, smooth and of limited bandwidth.
</p>
<h4>Implementation</h4>
<p>
Speed and acceleration are differentiated on paper. The outputs carry no unit, because the block serves angles and
lengths. For a start at rest choose <code>sum(k*sine[k]) = 0</code>, for a start at zero
<code>offset = -sum(cosine)</code>.
</p>
<h4>Limitations</h4>
<p>Six harmonics; set the amplitudes that are not wanted to zero.</p>
<h4>References</h4>
<p>
J. Swevers, C. Ganseman, D. Bilgin T&uuml;kel, J. De Schutter, H. Van Brussel: <em>Optimal robot excitation and
identification</em>, IEEE Transactions on Robotics and Automation 13 (1997), 730-740.
</p>
</html>"));
end FourierMotion;
