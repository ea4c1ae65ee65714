within Mechanisms.Icons;
partial package FunctionsPackage "Icon of a package of functions"
  extends Package;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{-60,40},{60,-84}}, textColor={108,88,49}, textString="f(x)", textStyle={TextStyle.Italic})}),
    Documentation(info="<html>
<p>Icon of a package of functions. It holds no equation.</p>
</html>"));
end FunctionsPackage;
