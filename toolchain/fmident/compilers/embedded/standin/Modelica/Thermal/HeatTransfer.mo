within Modelica.Thermal;
package HeatTransfer "Heat ports, and what a loss is led to"
  extends Modelica.Icons.Package;
  import Modelica.Units.SI;

  package Interfaces "Heat ports and partial models"
    extends Modelica.Icons.InterfacesPackage;

    partial connector HeatPort
      SI.Temperature T;
      flow SI.HeatFlowRate Q_flow;
    end HeatPort;

    connector HeatPort_a
      extends HeatPort;
    end HeatPort_a;

    connector HeatPort_b
      extends HeatPort;
    end HeatPort_b;

    partial model PartialElementaryConditionalHeatPortWithoutT
      parameter Boolean useHeatPort = false;
      SI.Power lossPower;
      HeatPort_a heatPort(final Q_flow = -lossPower) if useHeatPort;
    end PartialElementaryConditionalHeatPortWithoutT;
  end Interfaces;

  package Components "Heat storage and conduction"
    extends Modelica.Icons.Package;

    model HeatCapacitor
      parameter SI.HeatCapacity C;
      SI.Temperature T(start = 293.15, displayUnit = "degC");
      SI.TemperatureSlope der_T(start = 0);
      Interfaces.HeatPort_a port;
    equation
      port.T = T;
      der(T) = der_T;
      C*der_T = port.Q_flow;
    end HeatCapacitor;

    model ThermalConductor
      parameter SI.ThermalConductance G;
      SI.HeatFlowRate Q_flow;
      SI.TemperatureDifference dT;
      Interfaces.HeatPort_a port_a;
      Interfaces.HeatPort_b port_b;
    equation
      dT = port_a.T - port_b.T;
      Q_flow = G*dT;
      port_a.Q_flow = Q_flow;
      port_b.Q_flow = -Q_flow;
    end ThermalConductor;
  end Components;

  package Sources "Temperatures"
    extends Modelica.Icons.SourcesPackage;

    model FixedTemperature
      parameter SI.Temperature T;
      Interfaces.HeatPort_b port;
    equation
      port.T = T;
    end FixedTemperature;
  end Sources;
end HeatTransfer;
