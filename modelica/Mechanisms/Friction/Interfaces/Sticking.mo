within Mechanisms.Friction.Interfaces;
partial model Sticking "Coulomb friction of a contact that sticks and breaks away, without units"
  Real speed "Sliding speed";
  Real level "Friction of sliding, and the largest at rest";
  Real acceleration "Rate of the speed";
  Real friction "Coulomb friction, acts against the motion";
  Real s "Friction while the contact sticks; else the acceleration, shifted away from zero by the level";
  Integer direction(start=0, fixed=true) "1 slides forward, -1 slides backward, 0 is at rest";
  Boolean forward(start=false, fixed=true) "Breaks away forward";
  Boolean backward(start=false, fixed=true) "Breaks away backward";
  Boolean locked "Sticks";
equation
  forward = pre(direction) == 0 and s > level or initial() and speed > 0;
  backward = pre(direction) == 0 and s < -level or initial() and speed < 0;
  locked = not (pre(direction) <> 0 or forward or backward);
  direction = if (pre(direction) == 1 or forward) and speed > 0 then 1
    elseif (pre(direction) == -1 or backward) and speed < 0 then -1 else 0;
  friction = if locked then s elseif pre(direction) == 1 or forward then level else -level;
  acceleration = if locked then 0 else s - friction;
  annotation (Documentation(info="<html>
<p>
States and switching conditions of Coulomb friction that sticks. A subclass gives <code>speed</code> and
<code>level</code>, states that <code>acceleration</code> is the rate of the speed, and lets <code>friction</code> act
against the motion. One unknown, <code>s</code>, is the friction while the contact sticks and the acceleration while
it slides: where it passes the level, the contact breaks away; where the speed changes sign, it sticks again.
</p>
<h4>References</h4>
<p>
M. Otter, H. Elmqvist, S. E. Mattsson: <em>Hybrid modeling in Modelica based on the synchronous data flow
principle</em>, IEEE International Symposium on Computer Aided Control System Design, 1999, 151-157.
</p>
</html>"));
end Sticking;
