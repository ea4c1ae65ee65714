within Mechanisms.Examples;
model TripodMove "Tripod whose carriages follow a Fourier series each"
  extends Icons.Example;
  Robots.Tripod robot "Robot";
  Sources.FourierMotion motion[3](
    each omega=3.141592653589793,
    offset={0.03, 0.02, -0.01},
    sine={{0.02, -0.01, 0, 0, 0, 0}, {-0.02, 0.01, 0, 0, 0, 0}, {0.04, -0.02, 0, 0, 0, 0}},
    cosine={{-0.02, -0.01, 0, 0, 0, 0}, {-0.03, 0.01, 0, 0, 0, 0}, {0.02, -0.01, 0, 0, 0, 0}}) "Motion of the rails";
equation
  for i in 1:3 loop
    robot.s_ref[i] = motion[i].q;
    robot.v_ref[i] = motion[i].qd;
    robot.a_ref[i] = motion[i].qdd;
  end for;
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>The reference starts at rest where the robot stands, and comes back to it after two seconds.</p>
</html>"));
end TripodMove;
