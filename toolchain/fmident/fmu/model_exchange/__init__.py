"""Model Exchange of FMI 2.0 and 3.0: the FMU gives equations, SUNDIALS CVODE integrates.

Reading order: ``driver`` (how the simulator sees it), ``exchange_plan`` (one setup), ``equations``
(calls of an instance), ``integrator`` (CVODE), ``loop`` (compiled: steps and events),
``callbacks`` (compiled: what CVODE calls).
"""
