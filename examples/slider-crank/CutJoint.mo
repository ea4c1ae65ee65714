package CutJoint "A mechanism in more coordinates than degrees of freedom"
  model SliderCrankInverse "Inverse dynamics of the slider-crank in joint coordinates, its piston pin cut"
    parameter Real inertia1(unit="kg.m2") = 3.8e-4 "Crank: moment of inertia about the crank axis (Izz)";
    parameter Real momentX1(unit="kg.m") = 7.2e-3 "Crank: first moment along the crank (mX)";
    parameter Real momentY1(unit="kg.m") = 0 "Crank: first moment across the crank (mY)";
    parameter Real mass1(unit="kg") = 0.18 "Crank: mass";
    parameter Real inertia2(unit="kg.m2") = 4.6e-3 "Connecting rod: moment of inertia about the crank pin (Izz)";
    parameter Real momentX2(unit="kg.m") = 2.8e-2 "Connecting rod: first moment along the rod (mX)";
    parameter Real momentY2(unit="kg.m") = 0 "Connecting rod: first moment across the rod (mY)";
    parameter Real mass2(unit="kg") = 0.22 "Connecting rod: mass";
    parameter Real inertia3(unit="kg.m2") = 1.9e-4 "Slider: moment of inertia about the piston pin (Izz)";
    parameter Real momentX3(unit="kg.m") = 0 "Slider: first moment along the guide (mX)";
    parameter Real momentY3(unit="kg.m") = 0 "Slider: first moment across the guide (mY)";
    parameter Real mass3(unit="kg") = 0.25 "Slider: mass";
    parameter Real coulombForce(unit="N") = 0 "Coulomb friction force between slider and guide";
    parameter Real viscousFriction(unit="N.s/m") = 0 "Viscous friction constant between slider and guide";
    parameter Real length1(unit="m") = 0.08 "Length of the crank";
    parameter Real length2(unit="m") = 0.25 "Length of the connecting rod";
    parameter Real gravity[2](each unit="m/s2") = {0, -9.81} "Gravity, along the guide and across it";
    parameter Real speedWidth(unit="m/s") = 0.01 "Width of the smooth sign of the Coulomb friction";
    input Real q(unit="rad") "Crank angle, the independent coordinate";
    input Real qd(unit="rad/s") "Crank speed";
    input Real qdd(unit="rad/s2") "Crank acceleration";
    output Real tau(unit="N.m") "Crank torque";
    output Real pinForce[2](each unit="N") "Lagrange multipliers: force of the slider on the rod";
    output Real rodAngle(unit="rad") "Angle of the connecting rod relative to the crank";
    output Real sliderPosition(unit="m") "Distance of the piston pin from the crank axis";
    output Real sliderSpeed(unit="m/s") "Speed of the slider";
    output Real kineticEnergy(unit="J") "Kinetic energy";
    output Real potentialEnergy(unit="J") "Potential energy";
    output Real inputPower(unit="W") "Power of the crank torque";
    output Real dissipatedPower(unit="W") "Power lost in friction";
  protected
    Real rod(unit="rad", start=0) "Angle of the rod to the guide; the branch on which it stays near zero";
    Real speed[3] "Of the coordinates: crank angle, rod relative to the crank, slider";
    Real acceleration[3];
    Real C[2, 3] "Jacobian of the constraints by the coordinates";
    Real CSpeed[2, 3] "Its derivative with respect to time";
    Real M[3, 3] "Mass matrix of the opened chain";
    Real bias[3] "Centrifugal and Coriolis terms of the opened chain";
    Real weight[3] "Generalized forces of gravity";
    Real along(unit="kg.m") "First moment of the rod along the crank";
    Real across(unit="kg.m") "First moment of the rod across the crank";
    Real frictionForce(unit="N") "Friction force between slider and guide";
  equation
    // Position problem: the end of the rod and the slider meet in the piston pin.
    length1*cos(q) + length2*cos(rod) = sliderPosition;
    length1*sin(q) + length2*sin(rod) = 0;
    rodAngle = rod - q;
    // The constraints, differentiated once and twice.
    C = {{-length1*sin(q) - length2*sin(rod), -length2*sin(rod), -1},
         {length1*cos(q) + length2*cos(rod), length2*cos(rod), 0}};
    CSpeed = {{-length1*cos(q)*qd - length2*cos(rod)*(qd + speed[2]), -length2*cos(rod)*(qd + speed[2]), 0},
              {-length1*sin(q)*qd - length2*sin(rod)*(qd + speed[2]), -length2*sin(rod)*(qd + speed[2]), 0}};
    speed[1] = qd;
    C*speed = zeros(2);
    acceleration[1] = qdd;
    C*acceleration + CSpeed*speed = zeros(2);
    sliderSpeed = speed[3];
    // The opened chain: three joints, two bodies that turn and one that slides.
    along = momentX2*cos(rodAngle) - momentY2*sin(rodAngle);
    across = momentX2*sin(rodAngle) + momentY2*cos(rodAngle);
    M = {{inertia1 + mass2*length1^2 + inertia2 + 2*length1*along, inertia2 + length1*along, 0},
         {inertia2 + length1*along, inertia2, 0},
         {0, 0, mass3}};
    bias = {-length1*across*(2*speed[1]*speed[2] + speed[2]^2), length1*across*speed[1]^2, 0};
    weight = {gravity[1]*(-momentX1*sin(q) - momentY1*cos(q) - mass2*length1*sin(q))
                + gravity[2]*(momentX1*cos(q) - momentY1*sin(q) + mass2*length1*cos(q)) + weight[2],
              gravity[1]*(-momentX2*sin(rod) - momentY2*cos(rod)) + gravity[2]*(momentX2*cos(rod) - momentY2*sin(rod)),
              gravity[1]*mass3};
    frictionForce = coulombForce*tanh(sliderSpeed/speedWidth) + viscousFriction*sliderSpeed;
    M*acceleration + bias = weight + {tau, 0, -frictionForce} + transpose(C)*pinForce;
    // Energies and powers
    kineticEnergy = 0.5*speed*(M*speed);
    potentialEnergy = -gravity[1]*(momentX1*cos(q) - momentY1*sin(q) + mass2*length1*cos(q) + momentX2*cos(rod)
        - momentY2*sin(rod) + mass3*sliderPosition + momentX3)
      - gravity[2]*(momentX1*sin(q) + momentY1*cos(q) + mass2*length1*sin(q) + momentX2*sin(rod) + momentY2*cos(rod)
        + momentY3);
    inputPower = tau*qd;
    dissipatedPower = frictionForce*sliderSpeed;
    annotation (
      experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
      Documentation(info="<html>
<p>
The coordinates are those of the joints of the opened chain: the angle of the crank, the angle of the rod relative to the
crank, and the position of the slider. The revolute joint between rod and slider is cut; two constraints close it again,
and their multipliers are the force in the piston pin. The position problem, the two derivatives of the constraints and
the equations of motion are solved in this order:
</p>
<pre>
M*acceleration + bias = weight + actuation + transpose(C)*pinForce
</pre>
<p>
Energies and torque are linear in all inertial parameters, about the joints; <code>inertia3</code>, <code>momentX3</code>,
<code>momentY3</code> and <code>mass1</code> have no influence on the torque.
</p>
</html>"));
  end SliderCrankInverse;
end CutJoint;
