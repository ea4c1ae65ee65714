within Mechanisms.DriveTrains;
partial model PartialEfficiencyGear "Gear with losses, without the law of its efficiency"
  extends Modelica.Mechanics.Rotational.Interfaces.PartialElementaryTwoFlangesAndSupport2;
  extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
  parameter SI.DimensionlessRatio ratio = 1 "Gear ratio, angle of flange_a over angle of flange_b"
    annotation (Dialog(group="Gear"));
  parameter SI.Efficiency efficiency(min=1e-3) = 1 "Gear efficiency in either direction of power flow, in (0, 1]"
    annotation (Dialog(group="Gear"));
  SI.Angle phi_a "Angle of the motor side relative to the support";
  SI.Angle phi_b "Angle of the load side relative to the support";
  SI.AngularVelocity w_b "Speed of the load side relative to the support";
  SI.Torque tauLoad "Torque that the gear applies to the load";
equation
  phi_a = flange_a.phi - phi_support;
  phi_b = flange_b.phi - phi_support;
  phi_a = ratio*phi_b;
  w_b = der(phi_b);
  tauLoad = -flange_b.tau;
  lossPower = flange_a.tau*ratio*w_b - tauLoad*w_b;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-100,10},{-40,-10}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{40,10},{100,-10}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-40,20},{-20,-20}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-40,80},{-20,20}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-20,60},{20,40}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{20,70},{40,30}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{20,30},{40,-40}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Text(extent={{-150,130},{150,90}}, textColor={0,0,255}, textString="%name")}),
    Documentation(info="<html>
<p>
A gear without inertia, backlash or elasticity, whose losses are proportional to the transmitted power. A subclass
gives the torque of <code>flange_a</code>, the side of the motor.
</p>
<h4>References</h4>
<p>
C. Pelchen, C. Schweiger, M. Otter: <em>Modeling and Simulating the Efficiency of Gearboxes and of Planetary
Gearboxes</em>, 2nd International Modelica Conference, Oberpfaffenhofen, 2002.
</p>
</html>"));
end PartialEfficiencyGear;
