"""The cases of ``ci/fuzz``: how sound inputs are changed, and which inputs there are."""
