"""``fmident app``: the work on a problem in a browser.

The app edits a problem file (`draft`), runs the commands of fmident in processes of their own
(`jobs`) and simulates in another one (`simulations`). Nothing in it computes.
"""
