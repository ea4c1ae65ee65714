within ;
package MechanismsTest "Machines with the inputs of the tests"
  annotation (
    version="0.2.0",
    uses(Mechanisms(version="1.0.0"), Modelica(version="4.0.0")),
    Documentation(info="<html>
<p>
For inputs that are formulas in a reference file: straight lines between samples would differ from them. And for parts
with flanges, which have no inputs: friction at a given speed.
</p>
</html>"));
end MechanismsTest;
