"""The figures of results: each is described once, and drawn by the page and by Matplotlib.

``chart`` is what a figure is made from. ``fits``, ``residuals``, ``uncertainty``, ``profiles``,
``draws``, ``folds`` and ``search`` describe the figures of a result. ``browser`` is what a page
needs to draw them, ``drawing`` draws them with Matplotlib, ``files`` writes them into a folder,
``plots`` puts them on axes for methods such as ``result.plot_fit``.
"""
