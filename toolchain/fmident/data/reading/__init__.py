"""From the bytes of a CSV file to columns of numbers: encoding, layout, header, stamps."""
