within Mechanisms.Robots;
model SerialLinkage "Links of an open chain of revolute joints"
  extends PartialSerialArm;
  parameter StateSelect stateSelect = StateSelect.prefer "Priority of the joints' angles and speeds as states"
    annotation (Dialog(tab="Advanced", group="States"));
  Modelica.Mechanics.Rotational.Interfaces.Flange_a joint[n] "Joints"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  SI.Angle q[n](each stateSelect=stateSelect) "Angles of the joints";
  SI.AngularVelocity qd[n](each stateSelect=stateSelect) "Speeds of the joints";
  SI.AngularAcceleration qdd[n] "Accelerations of the joints";
protected
  SI.Torque torque[n] "Torques on the joints";
equation
  q = joint.phi;
  qd = der(q);
  qdd = der(qd);
  (torque, kineticEnergy, potentialEnergy) = Functions.openChainTorque(q, qd, qdd, alpha, d, r, jointOffset,
    transpose({Ixx, Ixy, Ixz, Iyy, Iyz, Izz}), transpose({mx, my, mz}), m, gravity);
  joint.tau = torque;
  annotation (Documentation(info="<html>
<p>
The torque on every joint for a motion of all of them, by
<a href=\"modelica://Mechanisms.Functions.openChainTorque\">openChainTorque</a>. It is linear in the accelerations,
which a tool therefore finds from given torques, and in the inertial parameters of the links.
</p>
<p>
Motors, gears and elastic shafts of the standard library drive the flanges;
<a href=\"modelica://Mechanisms.Robots.SerialArm\">SerialArm</a> has them for an industrial arm.
</p>
</html>"));
end SerialLinkage;
