within Modelica.Mechanics;
package Rotational "Shafts: interfaces, and the parts that drives are most often made of"
  extends Modelica.Icons.Package;
  import Modelica.Units.SI;

  package Interfaces "Flanges and partial models"
    extends Modelica.Icons.InterfacesPackage;

    connector Flange
      SI.Angle phi;
      flow SI.Torque tau;
    end Flange;

    connector Flange_a
      extends Flange;
    end Flange_a;

    connector Flange_b
      extends Flange;
    end Flange_b;

    connector Support
      extends Flange;
    end Support;

    partial model PartialTwoFlanges
      Flange_a flange_a;
      Flange_b flange_b;
    end PartialTwoFlanges;

    partial model PartialCompliant
      extends PartialTwoFlanges;
      SI.Angle phi_rel(start = 0);
      SI.Torque tau;
    equation
      phi_rel = flange_b.phi - flange_a.phi;
      flange_a.tau = -tau;
      flange_b.tau = tau;
    end PartialCompliant;

    partial model PartialCompliantWithRelativeStates
      extends PartialTwoFlanges;
      parameter SI.Angle phi_nominal(displayUnit = "rad", min = 0.0) = 1e-4;
      parameter StateSelect stateSelect = StateSelect.prefer;
      SI.Angle phi_rel(start = 0, stateSelect = stateSelect,
        nominal = if phi_nominal >= Modelica.Constants.eps then phi_nominal else 1);
      SI.AngularVelocity w_rel(start = 0, stateSelect = stateSelect);
      SI.AngularAcceleration a_rel(start = 0);
      SI.Torque tau;
    equation
      phi_rel = flange_b.phi - flange_a.phi;
      der(phi_rel) = w_rel;
      der(w_rel) = a_rel;
      flange_a.tau = -tau;
      flange_b.tau = tau;
    end PartialCompliantWithRelativeStates;

    partial model PartialElementaryOneFlangeAndSupport2
      parameter Boolean useSupport = false;
      Flange_b flange;
      Support support(phi = phi_support, tau = -flange.tau) if useSupport;
    protected
      SI.Angle phi_support;
    equation
      if not useSupport then
        phi_support = 0;
      end if;
    end PartialElementaryOneFlangeAndSupport2;

    partial model PartialElementaryTwoFlangesAndSupport2
      extends PartialTwoFlanges;
      parameter Boolean useSupport = false;
      Support support(phi = phi_support, tau = -flange_a.tau - flange_b.tau) if useSupport;
    protected
      SI.Angle phi_support;
    equation
      if not useSupport then
        phi_support = 0;
      end if;
    end PartialElementaryTwoFlangesAndSupport2;

    partial model PartialTorque
      extends PartialElementaryOneFlangeAndSupport2;
      SI.Angle phi;
    equation
      phi = flange.phi - phi_support;
    end PartialTorque;

    partial model PartialAbsoluteSensor
      extends Modelica.Icons.RoundSensor;
      Flange_a flange;
    equation
      flange.tau = 0;
    end PartialAbsoluteSensor;

    partial model PartialRelativeSensor
      extends Modelica.Icons.RoundSensor;
      extends PartialTwoFlanges;
    equation
      flange_a.tau + flange_b.tau = 0;
    end PartialRelativeSensor;
  end Interfaces;

  package Components "Inertias, springs, dampers, gears"
    extends Modelica.Icons.Package;

    model Fixed
      parameter SI.Angle phi0 = 0;
      Interfaces.Flange_b flange;
    equation
      flange.phi = phi0;
    end Fixed;

    model Inertia
      extends Interfaces.PartialTwoFlanges;
      parameter SI.Inertia J(min = 0, start = 1);
      parameter StateSelect stateSelect = StateSelect.default;
      SI.Angle phi(stateSelect = stateSelect);
      SI.AngularVelocity w(stateSelect = stateSelect);
      SI.AngularAcceleration a;
    equation
      flange_a.phi = phi;
      flange_b.phi = phi;
      der(phi) = w;
      der(w) = a;
      flange_a.tau + flange_b.tau = J*a;
    end Inertia;

    model Spring
      extends Interfaces.PartialCompliant;
      parameter SI.RotationalSpringConstant c(final min = 0, start = 1e5);
      parameter SI.Angle phi_rel0 = 0;
    equation
      tau = c*(phi_rel - phi_rel0);
    end Spring;

    model Damper
      extends Interfaces.PartialCompliantWithRelativeStates;
      extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
      parameter SI.RotationalDampingConstant d(final min = 0, start = 0);
    equation
      tau = d*w_rel;
      lossPower = tau*w_rel;
    end Damper;

    model SpringDamper
      extends Interfaces.PartialCompliantWithRelativeStates;
      extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
      parameter SI.RotationalSpringConstant c(final min = 0, start = 1e5);
      parameter SI.RotationalDampingConstant d(final min = 0, start = 0);
      parameter SI.Angle phi_rel0 = 0;
    protected
      SI.Torque tau_c;
      SI.Torque tau_d;
    equation
      tau_c = c*(phi_rel - phi_rel0);
      tau_d = d*w_rel;
      tau = tau_c + tau_d;
      lossPower = tau_d*w_rel;
    end SpringDamper;

    model IdealGear
      extends Interfaces.PartialElementaryTwoFlangesAndSupport2;
      parameter Real ratio(start = 1);
      SI.Angle phi_a;
      SI.Angle phi_b;
    equation
      flange_a.phi = phi_a + phi_support;
      flange_b.phi = phi_b + phi_support;
      phi_a = ratio*phi_b;
      ratio*flange_a.tau + flange_b.tau = 0;
    end IdealGear;

    model IdealGearR2T
      parameter Real ratio(final unit = "rad/m", start = 1);
      parameter Boolean useSupportR = false;
      parameter Boolean useSupportT = false;
      Interfaces.Flange_a flangeR;
      Modelica.Mechanics.Translational.Interfaces.Flange_b flangeT;
      Interfaces.Support supportR(phi = phi_support, tau = -flangeR.tau) if useSupportR;
      Modelica.Mechanics.Translational.Interfaces.Support supportT(s = s_support, f = -flangeT.f) if useSupportT;
    protected
      SI.Angle phi_support;
      SI.Position s_support;
    equation
      flangeR.phi - phi_support = ratio*(flangeT.s - s_support);
      ratio*flangeR.tau + flangeT.f = 0;
      if not useSupportR then
        phi_support = 0;
      end if;
      if not useSupportT then
        s_support = 0;
      end if;
    end IdealGearR2T;
  end Components;

  package Sources "Torques and motions"
    extends Modelica.Icons.SourcesPackage;

    model Torque
      extends Interfaces.PartialElementaryOneFlangeAndSupport2;
      Modelica.Blocks.Interfaces.RealInput tau(unit = "N.m");
    equation
      flange.tau + tau = 0;
    end Torque;

    model ConstantTorque
      extends Interfaces.PartialTorque;
      parameter SI.Torque tau_constant;
      SI.AngularVelocity w;
      SI.Torque tau;
    equation
      der(phi) = w;
      flange.tau + tau = 0;
      tau = tau_constant;
    end ConstantTorque;

    model Position
      extends Interfaces.PartialElementaryOneFlangeAndSupport2;
      parameter Boolean exact = false;
      parameter SI.Frequency f_crit = 50;
      SI.Angle phi(stateSelect = if exact then StateSelect.default else StateSelect.prefer);
      SI.AngularVelocity w(start = 0, stateSelect = if exact then StateSelect.default else StateSelect.prefer);
      SI.AngularAcceleration a(start = 0);
      Modelica.Blocks.Interfaces.RealInput phi_ref(final quantity = "Angle", final unit = "rad", displayUnit = "deg");
    protected
      parameter SI.AngularFrequency w_crit = 2*Modelica.Constants.pi*f_crit;
      // Bessel filter of second order, 3 dB down at f_crit
      constant Real af = 1.3617;
      constant Real bf = 0.6180;
    initial equation
      if not exact then
        phi = phi_ref;
      end if;
    equation
      flange.phi = phi + phi_support;
      if exact then
        phi = phi_ref;
        w = 0;
        a = 0;
      else
        der(phi) = w;
        der(w) = a;
        a = ((phi_ref - phi)*w_crit - af*w)*(w_crit/bf);
      end if;
    end Position;

    model Speed
      extends Interfaces.PartialElementaryOneFlangeAndSupport2;
      parameter Boolean exact = false;
      parameter SI.Frequency f_crit = 50;
      SI.Angle phi(start = 0, fixed = true, stateSelect = StateSelect.prefer);
      SI.AngularVelocity w(stateSelect = if exact then StateSelect.default else StateSelect.prefer);
      SI.AngularAcceleration a;
      Modelica.Blocks.Interfaces.RealInput w_ref(unit = "rad/s");
    protected
      parameter SI.AngularFrequency w_crit = 2*Modelica.Constants.pi*f_crit;
    initial equation
      if not exact then
        w = w_ref;
      end if;
    equation
      flange.phi = phi + phi_support;
      der(phi) = w;
      if exact then
        w = w_ref;
        a = 0;
      else
        der(w) = a;
        a = (w_ref - w)*w_crit;
      end if;
    end Speed;

    model Move
      extends Interfaces.PartialElementaryOneFlangeAndSupport2;
      SI.Angle phi;
      Modelica.Blocks.Interfaces.RealInput u[3];
    protected
      // u[2] and u[3] are the derivatives of u[1]; 'time' is what is differentiated
      function position
        input Real u[3];
        input Real t;
        output Real q = u[1];
      algorithm
        annotation (derivative(noDerivative = u) = speed);
      end position;

      function speed
        input Real u[3];
        input Real t;
        input Real der_t;
        output Real qd = u[2];
      algorithm
        annotation (derivative(noDerivative = u, order = 2) = acceleration);
      end speed;

      function acceleration
        input Real u[3];
        input Real t;
        input Real der_t;
        input Real der2_t;
        output Real qdd = u[3];
      algorithm
      end acceleration;
    equation
      phi = flange.phi - phi_support;
      phi = position(u, time);
    end Move;
  end Sources;

  package Sensors "Angles, speeds, torques as signals"
    extends Modelica.Icons.SensorsPackage;

    model AngleSensor
      extends Interfaces.PartialAbsoluteSensor;
      Modelica.Blocks.Interfaces.RealOutput phi(unit = "rad", displayUnit = "deg");
    equation
      phi = flange.phi;
    end AngleSensor;

    model SpeedSensor
      extends Interfaces.PartialAbsoluteSensor;
      Modelica.Blocks.Interfaces.RealOutput w(unit = "rad/s");
    equation
      w = der(flange.phi);
    end SpeedSensor;

    model TorqueSensor
      extends Interfaces.PartialRelativeSensor;
      Modelica.Blocks.Interfaces.RealOutput tau(unit = "N.m");
    equation
      flange_a.phi = flange_b.phi;
      tau = flange_a.tau;
    end TorqueSensor;
  end Sensors;
end Rotational;
