within Modelica.Electrical;
package Analog "Pins, and the circuit of a direct-current motor"
  extends Modelica.Icons.Package;
  import Modelica.Units.SI;

  package Interfaces "Pins and partial models"
    extends Modelica.Icons.InterfacesPackage;

    connector Pin
      SI.ElectricPotential v;
      flow SI.Current i;
    end Pin;

    connector PositivePin
      extends Pin;
    end PositivePin;

    connector NegativePin
      extends Pin;
    end NegativePin;

    partial model TwoPin
      PositivePin p;
      NegativePin n;
      SI.Voltage v;
    equation
      p.v - n.v = v;
    end TwoPin;

    partial model OnePort
      extends TwoPin;
      SI.Current i;
    equation
      p.i = i;
      n.i = -i;
    end OnePort;

    partial model ConditionalHeatPort
      parameter Boolean useHeatPort = false;
      parameter SI.Temperature T = 293.15;
      SI.Power LossPower;
      SI.Temperature T_heatPort;
      Modelica.Thermal.HeatTransfer.Interfaces.HeatPort_a heatPort(
        final T = T_heatPort, final Q_flow = -LossPower) if useHeatPort;
    equation
      if not useHeatPort then
        T_heatPort = T;
      end if;
    end ConditionalHeatPort;
  end Interfaces;

  package Basic "Resistor, inductor, capacitor, ground and the transformer to a shaft"
    extends Modelica.Icons.Package;

    model Ground
      Interfaces.Pin p;
    equation
      p.v = 0;
    end Ground;

    model Resistor
      extends Interfaces.OnePort;
      extends Interfaces.ConditionalHeatPort(T = T_ref);
      parameter SI.Resistance R(start = 1);
      parameter SI.Temperature T_ref = 300.15;
      parameter SI.LinearTemperatureCoefficient alpha = 0;
      SI.Resistance R_actual;
    equation
      R_actual = R + R*alpha*(T_heatPort - T_ref);
      assert(1 + alpha*(T_heatPort - T_ref) > 0, "Resistor: no resistance is left at this temperature");
      v = R_actual*i;
      LossPower = v*i;
    end Resistor;

    model Inductor
      extends Interfaces.OnePort(i(start = 0));
      parameter SI.Inductance L(start = 1);
    equation
      v = L*der(i);
    end Inductor;

    model Capacitor
      extends Interfaces.OnePort(v(start = 0));
      parameter SI.Capacitance C(start = 1);
    equation
      i = C*der(v);
    end Capacitor;

    model RotationalEMF
      parameter Boolean useSupport = false;
      parameter SI.ElectricalTorqueConstant k(start = 1);
      SI.Voltage v;
      SI.Current i;
      SI.Angle phi;
      SI.AngularVelocity w;
      SI.Torque tau;
      SI.Torque tauElectrical;
      Interfaces.PositivePin p;
      Interfaces.NegativePin n;
      Modelica.Mechanics.Rotational.Interfaces.Flange_b flange;
      Modelica.Mechanics.Rotational.Interfaces.Support support(phi = phi_support, tau = -tau) if useSupport;
    protected
      SI.Angle phi_support;
    equation
      if not useSupport then
        phi_support = 0;
      end if;
      p.v - n.v = v;
      p.i = i;
      n.i = -i;
      phi = flange.phi - phi_support;
      w = der(phi);
      v = k*w;
      tauElectrical = k*i;
      tau = -tauElectrical;
      flange.tau = tau;
    end RotationalEMF;
  end Basic;

  package Sources "Voltages"
    extends Modelica.Icons.SourcesPackage;

    model SignalVoltage
      Interfaces.PositivePin p;
      Interfaces.NegativePin n;
      Modelica.Blocks.Interfaces.RealInput v(unit = "V");
      SI.Current i;
    equation
      p.v - n.v = v;
      p.i = i;
      n.i = -i;
    end SignalVoltage;

    model ConstantVoltage
      extends Interfaces.OnePort;
      parameter SI.Voltage V(start = 1);
    equation
      v = V;
    end ConstantVoltage;
  end Sources;
end Analog;
