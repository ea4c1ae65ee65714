within Mechanisms.Sources;
model FourierMotion "Position, speed and acceleration of a finite Fourier series"
  extends Icons.Block;
  parameter Units.AngularVelocity omega(min=1e-9) = 1 "Fundamental frequency";
  parameter Real offset = 0 "Mean position";
  parameter Real sine[6] = {0.1, 0, 0, 0, 0, 0} "Amplitudes of the sine terms of the harmonics 1 to 6";
  parameter Real cosine[6] = {0, 0, 0, 0, 0, 0} "Amplitudes of the cosine terms of the harmonics 1 to 6";
  output Real q "Position, an angle or a length";
  output Real qd "Speed, per second of the position";
  output Real qdd "Acceleration, per second squared of the position";
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
    Documentation(info="<html>
<p>
<code>q = offset + sum(sine[k]*sin(k*omega*t) + cosine[k]*cos(k*omega*t))</code> over six harmonics, and its first and second
derivative. The usual excitation of identification: periodic, smooth and of limited bandwidth.
</p>
<h4>Implementation</h4>
<p>
Speed and acceleration are differentiated on paper. The outputs carry no unit, because the block serves angles and lengths. For a start at rest choose
<code>sum(k*sine[k]) = 0</code>, for a start at zero <code>offset = -sum(cosine)</code>.
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
