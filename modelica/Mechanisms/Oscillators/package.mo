within Mechanisms;
package Oscillators "Mass, spring and damper"
  extends Icons.Package;
  annotation (Documentation(info="<html>
<p>
The linear oscillator of second order, once with its physical parameters and once in normal form.
</p>
</html>"));
end Oscillators;
