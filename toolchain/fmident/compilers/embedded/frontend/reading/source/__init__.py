"""Text of the user's files: classes, name resolution, libraries."""
