"""What is seen over time: signals, their residuals, estimates of online estimators."""
