"""Model Exchange of FMI 2.0 and 3.0: SUNDIALS CVODE integrates the FMU's equations."""
