within ;
package BeforeOne "Models that use Mechanisms 0.4.0 and MechanismsMSL 0.3.0, to be converted"
  extends Mechanisms.Icons.Package;
  import SI = Mechanisms.Units;

  model Oscillator "Signals, types and icons of Mechanisms"
    extends Mechanisms.Icons.Example;
    parameter SI.Force amplitude = 2 "Amplitude of the force";
    Mechanisms.Oscillators.MassSpringDamper oscillator(m=2.5, F=amplitude*sin(10*time)) "Oscillator";
    Mechanisms.Oscillators.MassSpringDamperNormalForm same(omega0=12.65, u=oscillator.F/oscillator.m) "In normal form";
    Mechanisms.Interfaces.RealOutput difference(unit="m") = oscillator.x - same.x "Difference of the positions";
    annotation (experiment(StopTime=1, Tolerance=1e-8, Interval=0.01));
  end Oscillator;

  model Drives "A drive of each library"
    import Mechanisms.DriveTrains;
    Mechanisms.Interfaces.RealInput torque(unit="N.m", start=0) "Motor torque";
    Mechanisms.Interfaces.RealOutput speed(unit="rad/s") = own.loadSpeed "Speed of the load";
    DriveTrains.RotaryDrive own(gearRatio=8) "Of Mechanisms";
    MechanismsMSL.DriveTrains.RotaryDrive other(gearRatio=8) "Of MechanismsMSL";
    MechanismsMSL.DriveTrains.RotaryDriveWithEvents sticking(gearRatio=8) "With events";
  equation
    own.motorTorque = torque;
    other.motorTorque = torque;
    sticking.motorTorque = torque;
  end Drives;

  model Loop "A controller and its axis"
    parameter Mechanisms.Units.Mass mass = 3 "Moved mass";
    parameter Real ratio(unit="rad/m") = 100 "Motor angle over travel";
    Mechanisms.DriveTrains.CascadeController controller(feedForwardMass=mass) "Controller";
    Mechanisms.DriveTrains.SlideWithLuGreFriction slide(m=mass) "Axis";
    Mechanisms.DriveTrains.PositioningAxisInverse inverse(m=mass) "Force that the motion needs";
  equation
    controller.s_ref = 0.01*sin(time);
    controller.v_ref = 0.01*cos(time);
    controller.a_ref = -0.01*sin(time);
    controller.phi = ratio*slide.x;
    controller.w = ratio*slide.v;
    slide.u = ratio*controller.tau;
    inverse.q = slide.x;
    inverse.qd = slide.v;
    inverse.qdd = 0;
  end Loop;

  model Robots "Robots of both libraries"
    Mechanisms.Interfaces.RealInput q[3](each unit="rad", each start=0.6) "Angles of the upper arms";
    Mechanisms.Interfaces.RealOutput tau[3](each unit="N.m") "Difference of the motor torques";
    Mechanisms.Robots.DeltaInverse own(q=q, qd=zeros(3), qdd=zeros(3), platformMass=1.2) "Of Mechanisms";
    MechanismsMSL.Robots.DeltaInverse other(
      q=q, qd=zeros(3), qdd=zeros(3), platformMass=1.2, barDistance=0.1) "Of MechanismsMSL";
    MechanismsMSL.Robots.DeltaInverseConstraints constrained(
      barDistance=0.1, q=q, qd=zeros(3), qdd=zeros(3), platformMass=1.2) "With constraints";
  equation
    tau = own.tau - other.tau + (own.tau - constrained.tau);
  end Robots;

  model Linkage "Slider-crank, forwards and backwards"
    MechanismsMSL.Linkages.SliderCrankForward crank(tau=0.2*sin(3*time)) "Forwards";
    Mechanisms.Linkages.SliderCrankInverse inverse(q=crank.q, qd=crank.qd, qdd=crank.qdd) "Backwards";
    Mechanisms.Units.Torque residual = inverse.tau - crank.tau "Zero";
  end Linkage;

  model Brake "Flanges of MechanismsMSL with the standard library"
    Modelica.Mechanics.Rotational.Sources.ConstantTorque torque(tau_constant=0.3) "Drive";
    Modelica.Mechanics.Rotational.Components.Inertia disc(J=0.02) "Disc";
    MechanismsMSL.Friction.RotationalStribeck friction(coulombTorque=0.1, staticTorque=0.2) "Bearing";
    MechanismsMSL.Components.EfficiencyGear gear(ratio=2, efficiency=0.9) "Gear";
    Modelica.Mechanics.Rotational.Components.Inertia load(J=0.01) "Load";
  equation
    connect(torque.flange, disc.flange_a);
    connect(disc.flange_b, friction.flange_a);
    connect(friction.flange_b, gear.flange_a);
    connect(gear.flange_b, load.flange_a);
  end Brake;

  model Bearing "Friction driven by a signal"
    Mechanisms.Friction.RotationalLuGre friction "Bearing";
  equation
    friction.w = sin(time);
  end Bearing;

  model ByHand "What no script can convert"
    parameter SI.FirstMoment unbalance = 1e-3 "Unbalance";
  end ByHand;
  annotation (version="1", uses(Mechanisms(version="0.4.0"), MechanismsMSL(version="0.3.0"), Modelica(version="4.0.0")));
end BeforeOne;
