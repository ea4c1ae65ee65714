"""What is seen over time: signals, their residuals, experiments that were not fitted."""
