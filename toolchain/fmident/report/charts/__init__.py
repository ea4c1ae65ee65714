"""Charts of the pages, which the browser draws: what they show, without any HTML of their own.

``chart`` is what a chart is made from, ``columns`` turns its numbers into text, ``library`` finds
the JavaScript that draws. The other modules make one kind of chart each.
"""

from fmident.report.charts.chart import (
    Axis,
    Band,
    Bars,
    Chart,
    Dots,
    Level,
    Line,
    Mark,
    Panel,
    Segments,
)

__all__ = ["Axis", "Band", "Bars", "Chart", "Dots", "Level", "Line", "Mark", "Panel", "Segments"]
