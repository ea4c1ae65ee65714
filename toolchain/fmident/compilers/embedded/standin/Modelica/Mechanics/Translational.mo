within Modelica.Mechanics;
package Translational "Slides: interfaces, and the parts that axes are most often made of"
  extends Modelica.Icons.Package;
  import Modelica.Units.SI;

  package Interfaces "Flanges and partial models"
    extends Modelica.Icons.InterfacesPackage;

    connector Flange
      SI.Position s;
      flow SI.Force f;
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

    partial model PartialRigid
      extends PartialTwoFlanges;
      parameter SI.Length L(start = 0);
      SI.Position s;
    equation
      flange_a.s = s - L/2;
      flange_b.s = s + L/2;
    end PartialRigid;

    partial model PartialCompliant
      extends PartialTwoFlanges;
      SI.Position s_rel(start = 0);
      SI.Force f;
    equation
      s_rel = flange_b.s - flange_a.s;
      flange_a.f = -f;
      flange_b.f = f;
    end PartialCompliant;

    partial model PartialCompliantWithRelativeStates
      extends PartialTwoFlanges;
      parameter SI.Distance s_nominal = 1e-4;
      parameter StateSelect stateSelect = StateSelect.prefer;
      SI.Position s_rel(start = 0, stateSelect = stateSelect, nominal = s_nominal);
      SI.Velocity v_rel(start = 0, stateSelect = stateSelect);
      SI.Force f;
    equation
      s_rel = flange_b.s - flange_a.s;
      der(s_rel) = v_rel;
      flange_a.f = -f;
      flange_b.f = f;
    end PartialCompliantWithRelativeStates;

    partial model PartialElementaryOneFlangeAndSupport2
      parameter Boolean useSupport = false;
      SI.Length s;
      Flange_b flange;
      Support support(s = s_support, f = -flange.f) if useSupport;
    protected
      SI.Length s_support;
    equation
      flange.s = s + s_support;
      if not useSupport then
        s_support = 0;
      end if;
    end PartialElementaryOneFlangeAndSupport2;

    partial model PartialElementaryTwoFlangesAndSupport2
      extends PartialTwoFlanges;
      parameter Boolean useSupport = false;
      Support support(s = s_support, f = -flange_a.f - flange_b.f) if useSupport;
      SI.Length s_a;
      SI.Length s_b;
    protected
      SI.Length s_support;
    equation
      flange_a.s = s_a + s_support;
      flange_b.s = s_b + s_support;
      if not useSupport then
        s_support = 0;
      end if;
    end PartialElementaryTwoFlangesAndSupport2;

    partial model PartialForce
      extends PartialElementaryOneFlangeAndSupport2;
      SI.Force f;
    equation
      flange.f = f;
    end PartialForce;

    partial model PartialAbsoluteSensor
      extends Modelica.Icons.RectangularSensor;
      Flange_a flange;
    equation
      flange.f = 0;
    end PartialAbsoluteSensor;

    partial model PartialRelativeSensor
      extends Modelica.Icons.RectangularSensor;
      extends PartialTwoFlanges;
    equation
      flange_a.f + flange_b.f = 0;
    end PartialRelativeSensor;
  end Interfaces;

  package Components "Masses, springs, dampers"
    extends Modelica.Icons.Package;

    model Fixed
      parameter SI.Position s0 = 0;
      Interfaces.Flange_b flange;
    equation
      flange.s = s0;
    end Fixed;

    model Mass
      extends Interfaces.PartialRigid(L = 0, s(start = 0, stateSelect = stateSelect));
      parameter SI.Mass m(min = 0, start = 1);
      parameter StateSelect stateSelect = StateSelect.default;
      SI.Velocity v(start = 0, stateSelect = stateSelect);
      SI.Acceleration a(start = 0);
    equation
      der(s) = v;
      der(v) = a;
      flange_a.f + flange_b.f = m*a;
    end Mass;

    model Spring
      extends Interfaces.PartialCompliant;
      parameter SI.TranslationalSpringConstant c(final min = 0, start = 1);
      parameter SI.Distance s_rel0 = 0;
    equation
      f = c*(s_rel - s_rel0);
    end Spring;

    model Damper
      extends Interfaces.PartialCompliantWithRelativeStates;
      extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
      parameter SI.TranslationalDampingConstant d(final min = 0, start = 0);
    equation
      f = d*v_rel;
      lossPower = f*v_rel;
    end Damper;

    model SpringDamper
      extends Interfaces.PartialCompliantWithRelativeStates;
      extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
      parameter SI.TranslationalSpringConstant c(final min = 0, start = 1);
      parameter SI.TranslationalDampingConstant d(final min = 0, start = 0);
      parameter SI.Position s_rel0 = 0;
    protected
      SI.Force f_c;
      SI.Force f_d;
    equation
      f_c = c*(s_rel - s_rel0);
      f_d = d*v_rel;
      f = f_c + f_d;
      lossPower = f_d*v_rel;
    end SpringDamper;
  end Components;

  package Sources "Forces and motions"
    extends Modelica.Icons.SourcesPackage;

    model Force
      extends Interfaces.PartialElementaryOneFlangeAndSupport2;
      Modelica.Blocks.Interfaces.RealInput f(unit = "N");
    equation
      flange.f + f = 0;
    end Force;

    model ConstantForce
      extends Interfaces.PartialForce;
      parameter SI.Force f_constant;
    equation
      f = -f_constant;
    end ConstantForce;

    model Position
      extends Interfaces.PartialElementaryOneFlangeAndSupport2(
        s(stateSelect = if exact then StateSelect.default else StateSelect.prefer));
      parameter Boolean exact = false;
      parameter SI.Frequency f_crit = 50;
      SI.Velocity v(start = 0, stateSelect = if exact then StateSelect.default else StateSelect.prefer);
      SI.Acceleration a(start = 0);
      Modelica.Blocks.Interfaces.RealInput s_ref(unit = "m");
    protected
      parameter SI.AngularFrequency w_crit = 2*Modelica.Constants.pi*f_crit;
      // Bessel filter of second order, 3 dB down at f_crit
      constant Real af = 1.3617;
      constant Real bf = 0.6180;
    initial equation
      if not exact then
        s = s_ref;
      end if;
    equation
      if exact then
        s = s_ref;
        v = 0;
        a = 0;
      else
        der(s) = v;
        der(v) = a;
        a = ((s_ref - s)*w_crit - af*v)*(w_crit/bf);
      end if;
    end Position;

    model Speed
      extends Interfaces.PartialElementaryOneFlangeAndSupport2(
        s(start = 0, fixed = true, stateSelect = StateSelect.prefer));
      parameter Boolean exact = false;
      parameter SI.Frequency f_crit = 50;
      SI.Velocity v(stateSelect = if exact then StateSelect.default else StateSelect.prefer);
      SI.Acceleration a;
      Modelica.Blocks.Interfaces.RealInput v_ref(unit = "m/s");
    protected
      parameter SI.AngularFrequency w_crit = 2*Modelica.Constants.pi*f_crit;
    initial equation
      if not exact then
        v = v_ref;
      end if;
    equation
      der(s) = v;
      if exact then
        v = v_ref;
        a = 0;
      else
        der(v) = a;
        a = (v_ref - v)*w_crit;
      end if;
    end Speed;

    model Move
      extends Interfaces.PartialElementaryOneFlangeAndSupport2;
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
      s = position(u, time);
    end Move;
  end Sources;

  package Sensors "Positions, speeds, forces as signals"
    extends Modelica.Icons.SensorsPackage;

    model PositionSensor
      extends Interfaces.PartialAbsoluteSensor;
      Modelica.Blocks.Interfaces.RealOutput s(unit = "m");
    equation
      s = flange.s;
    end PositionSensor;

    model SpeedSensor
      extends Interfaces.PartialAbsoluteSensor;
      Modelica.Blocks.Interfaces.RealOutput v(unit = "m/s");
    equation
      v = der(flange.s);
    end SpeedSensor;

    model ForceSensor
      extends Interfaces.PartialRelativeSensor;
      Modelica.Blocks.Interfaces.RealOutput f(unit = "N");
    equation
      flange_a.s = flange_b.s;
      f = flange_a.f;
    end ForceSensor;
  end Sensors;
end Translational;
