"""Model Exchange of FMI 2.0 and 3.0: the FMU gives equations, SUNDIALS CVODE integrates.

Reading order: ``driver`` (how the simulator sees it), ``exchange_plan`` (one setup), ``integrator``
(CVODE), ``loop`` (compiled: steps, events and what CVODE calls).
"""
