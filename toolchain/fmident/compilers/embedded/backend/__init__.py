"""Back end: turns an :class:`~fmident.compilers.embedded.model.OdeModel` into an FMU."""
