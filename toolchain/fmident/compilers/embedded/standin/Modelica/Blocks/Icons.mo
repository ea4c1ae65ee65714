within Modelica.Blocks;
package Icons "Blocks that are shown by a picture only"
  extends Modelica.Icons.IconsPackage;
  partial block Block
  end Block;
  partial block BooleanBlock
  end BooleanBlock;
  partial block DiscreteBlock
  end DiscreteBlock;
  partial block IntegerBlock
  end IntegerBlock;
  partial block PartialBooleanBlock
  end PartialBooleanBlock;
end Icons;
