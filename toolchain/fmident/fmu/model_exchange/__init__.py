"""Model Exchange of FMI 2.0 and 3.0: the FMU gives equations, SUNDIALS CVODE integrates.

Reading order: ``driver`` (one setup and CVODE), ``loop`` (compiled: steps, events and what CVODE
calls).
"""
