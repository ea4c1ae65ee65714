"""What a model predicts with the parameters that were found, and how sure that is."""

from fmident.prediction.bands import OutputBand, band_table, drawn_bands, normal_bands

__all__ = ["OutputBand", "band_table", "drawn_bands", "normal_bands"]
