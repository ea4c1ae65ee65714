within MechanismsTest;
model ArmOnElasticShafts "Two links in a vertical plane, driven through elastic shafts of the standard library"
  parameter Real gravity = 9.81;
  Mechanisms.Robots.SerialLinkage arm(
    n=2, alpha={-1.5707963267948966, 0}, d={0, 0.5}, r={0, 0}, jointOffset={0, 0},
    Ixx={0, 0}, Ixy={0, 0}, Ixz={0, 0}, Iyy={0, 0}, Iyz={0, 0}, Izz={0.3, 0.1}, mx={0.8, 0.3}, my={0, 0.05},
    mz={0, 0}, m={3, 1}, gravity={0, 0, -gravity}, q(each start=0, each fixed=true), qd(each start=0, each fixed=true));
  Mechanisms.Robots.AxisCoupling wrist(n=2, coupling={{0, 0}, {-0.5, 0}});
  Mechanisms.Friction.Rotational.CoulombViscous friction[2](coulombTorque={0.5, 0.2}, viscousFriction={0.3, 0.1});
  Modelica.Mechanics.Rotational.Components.Inertia motor[2](
    J={0.05, 0.03}, phi(each start=0, each fixed=true), w(each start=0, each fixed=true));
  Modelica.Mechanics.Rotational.Components.SpringDamper shaft[2](c={2000, 1000}, d={5, 2});
  Modelica.Mechanics.Rotational.Sources.Torque drive[2];
  Modelica.Blocks.Interfaces.RealInput tau[2](each start=0);
  Modelica.Blocks.Interfaces.RealOutput q[2] = arm.q;
  Modelica.Blocks.Interfaces.RealOutput energy = arm.kineticEnergy + arm.potentialEnergy
    + 0.5*(motor.J*motor.w.^2) + 0.5*(shaft.c*shaft.phi_rel.^2);
  Modelica.Blocks.Interfaces.RealOutput power = tau*motor.w;
  Modelica.Blocks.Interfaces.RealOutput loss = sum(friction.lossPower) + sum(shaft.lossPower);
equation
  connect(tau, drive.tau);
  connect(drive.flange, motor.flange_a);
  connect(motor.flange_b, shaft.flange_a);
  connect(shaft.flange_b, friction.flange_a);
  connect(friction.flange_b, wrist.axis);
  connect(wrist.joint, arm.joint);
end ArmOnElasticShafts;
