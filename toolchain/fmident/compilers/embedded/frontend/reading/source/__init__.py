"""The text of the user's files: classes, what names mean in them, where libraries are."""
