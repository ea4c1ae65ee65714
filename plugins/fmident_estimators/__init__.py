"""The estimators that come with fmident."""
