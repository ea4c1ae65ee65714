within Mechanisms.Friction.Interfaces;
partial model Sticking "Coulomb friction of a contact that sticks and breaks away, without units"
  Real speed "Sliding speed";
  Real forwardLevel "Friction of sliding forward, and the largest at rest against a forward motion";
  Real backwardLevel "The same for the other direction, positive, too";
  Real acceleration "Rate of the speed";
  Real friction "Coulomb friction, acts against the motion";
  Real path "Friction while the contact sticks, else the sum of friction and acceleration";
  Integer direction(start=2, fixed=true) "1 slides forward, -1 slides backward, 0 is at rest, 2 is not known yet";
  Boolean forward(start=false, fixed=true) "Breaks away forward";
  Boolean backward(start=false, fixed=true) "Breaks away backward";
  Boolean locked "Sticks";
equation
  forward = pre(direction) == 0 and path > forwardLevel or initial() and speed > 0;
  backward = pre(direction) == 0 and path < -backwardLevel or initial() and speed < 0;
  locked = not (pre(direction) == 1 or pre(direction) == -1 or forward or backward);
  direction = if (pre(direction) == 1 or forward) and speed > 0 then 1
    elseif (pre(direction) == -1 or backward) and speed < 0 then -1 else 0;
  friction = if locked then path elseif pre(direction) == 1 or forward then forwardLevel else -backwardLevel;
  acceleration = if locked then 0 else path - friction;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{0,-35.2},{0,35.2},{64,51.2}}, color={0,0,127}, thickness=0.4)}),
    Documentation(info="<html>
<p>
States and switching conditions of Coulomb friction that sticks. A subclass gives <code>speed</code> and the levels,
states that <code>acceleration</code> is the rate of the speed, and lets <code>friction</code> act against the motion.
One unknown, <code>path</code>, is the friction while the contact sticks and the acceleration while it slides: where
it passes a level, the contact breaks away; where the speed changes sign, it sticks again.
</p>
<h4>References</h4>
<p>
M. Otter, H. Elmqvist, S. E. Mattsson: <em>Hybrid modeling in Modelica based on the synchronous data flow
principle</em>, IEEE International Symposium on Computer Aided Control System Design, 1999, 151-157.
</p>
</html>"));
end Sticking;
