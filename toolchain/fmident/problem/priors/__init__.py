"""What is known of parameters before any data, and how it enters every cost."""
