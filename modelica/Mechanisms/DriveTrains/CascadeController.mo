within Mechanisms.DriveTrains;
model CascadeController "Position P, speed PI, torque feed-forward and torque limit for one drive"
  extends Icons.Block;
  parameter Real gearFactor(unit="rad/m", min=1e-12) = 100 "Motor angle over travel of the rail";
  parameter Real positionGain(unit="1/s") = 30 "Gain of the position controller";
  parameter Units.RotationalDampingConstant speedGain(min=1e-12) = 0.056 "Gain of the speed controller";
  parameter Units.Time integralTime(min=1e-12) = 0.03 "Integral time of the speed controller";
  parameter Units.Mass feedForwardMass = 2.8 "Mass that the acceleration feed-forward assumes";
  parameter Units.Force feedForwardForce = 0 "Constant force of the feed-forward, usually the weight";
  parameter Units.Torque torqueLimit(min=1e-12) = 2 "Torque limit";
  parameter Units.Torque torqueWidth(min=1e-15) = 2e-4 "Width of the rounded corners of the torque limit";
  input Units.Position s_ref(start=0) "Reference position";
  input Units.Velocity v_ref(start=0) "Reference speed";
  input Units.Acceleration a_ref(start=0) "Reference acceleration";
  input Units.Angle phi(start=0) "Measured motor angle";
  input Units.AngularVelocity w(start=0) "Measured motor speed";
  output Units.Torque tau "Motor torque";
  output Units.Angle integral(start=0, fixed=true, nominal=0.1) "Integral of the speed error";
  Units.AngularVelocity speedError "Speed error, in motor speed";
  Units.Torque unlimited "Torque before the limit";
equation
  speedError = gearFactor*v_ref + positionGain*(gearFactor*s_ref - phi) - w;
  unlimited = speedGain*(speedError + integral/integralTime) + (feedForwardMass*a_ref + feedForwardForce)/gearFactor;
  tau = Functions.smoothLimit(unlimited, torqueLimit, torqueWidth);
  der(integral) = speedError + (tau - unlimited)/speedGain;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<code>e = i*v_ref + positionGain*(i*s_ref - phi) - w</code>,
<code>tau = speedGain*(e + integral(e)/integralTime) + (feedForwardMass*a_ref + feedForwardForce)/i</code> within the
torque limit, <code>i = gearFactor</code>.
</p>
<h4>Implementation</h4>
<p>
While the torque is limited the integrator follows, so that it does not wind up. The limit is
<a href=\"modelica://Mechanisms.Functions.smoothLimit\">smoothLimit</a>, without an event. The feed-forward has its own
mass and force: it does not follow the true values when these are estimated.
</p>
<h4>Limitations</h4>
<p>Continuous in time; no sampling, no quantisation of the measured angle.</p>
<h4>References</h4>
<p>
H. Gro&szlig;, J. Hamann, G. Wiegand&auml;rtner: <em>Electrical Feed Drives in Automation</em>, Publicis, 2001.
</p>
</html>"));
end CascadeController;
