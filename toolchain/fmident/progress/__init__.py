"""Progress display of a run: a block in a terminal or notebook, else single lines.

``state`` collects the data of a run, ``block`` formats them for a width, and ``terminal``
replaces the previous block. The observer ``watch`` selects one, or writes a line per change
where replacing is impossible; its failures never end a run.
"""
