"""The result for spreadsheets, as CSV files."""
