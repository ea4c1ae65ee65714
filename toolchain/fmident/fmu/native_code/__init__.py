"""Native code: functions of an FMU by address, its log and output, the processor state."""
