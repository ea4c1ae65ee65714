within Modelica;
package Icons "Classes that are shown by a picture only"
  partial package ExamplesPackage
  end ExamplesPackage;
  partial package Package
  end Package;
  partial package BasesPackage
  end BasesPackage;
  partial package VariantsPackage
  end VariantsPackage;
  partial package InterfacesPackage
  end InterfacesPackage;
  partial package SourcesPackage
  end SourcesPackage;
  partial package SensorsPackage
  end SensorsPackage;
  partial package UtilitiesPackage
  end UtilitiesPackage;
  partial package TypesPackage
  end TypesPackage;
  partial package FunctionsPackage
  end FunctionsPackage;
  partial package IconsPackage
  end IconsPackage;
  partial package InternalPackage
  end InternalPackage;
  partial package MaterialPropertiesPackage
  end MaterialPropertiesPackage;
  partial package RecordsPackage
  end RecordsPackage;
  partial class Information
  end Information;
  partial class Contact
  end Contact;
  partial class ReleaseNotes
  end ReleaseNotes;
  partial class References
  end References;
  partial class MaterialProperty
  end MaterialProperty;
  partial class RoundSensor
  end RoundSensor;
  partial class RectangularSensor
  end RectangularSensor;
  partial class UnderConstruction
  end UnderConstruction;
  partial class ObsoleteModel
  end ObsoleteModel;
  partial model Example
  end Example;
  partial function Function
  end Function;
  partial record Record
  end Record;
  type TypeReal = Real;
  type TypeInteger = Integer;
  type TypeBoolean = Boolean;
  type TypeString = String;
end Icons;
