within Mechanisms.Examples;
model TripodMove "Tripod whose carriages follow a Fourier series each"
  extends Icons.Example;
  Robots.Tripod robot(
    s_ref={motion[1].q, motion[2].q, motion[3].q},
    v_ref={motion[1].qd, motion[2].qd, motion[3].qd},
    a_ref={motion[1].qdd, motion[2].qdd, motion[3].qdd}) "Robot";
  Sources.FourierMotion motion[3](
    each omega=3.141592653589793,
    offset={0.03, 0.02, -0.01},
    sine={{0.02, -0.01, 0, 0, 0, 0}, {-0.02, 0.01, 0, 0, 0, 0}, {0.04, -0.02, 0, 0, 0, 0}},
    cosine={{-0.02, -0.01, 0, 0, 0, 0}, {-0.03, 0.01, 0, 0, 0, 0}, {0.02, -0.01, 0, 0, 0, 0}}) "Motion of the rails";
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>The reference starts at rest where the robot stands, and comes back to it after two seconds.</p>
</html>"));
end TripodMove;
