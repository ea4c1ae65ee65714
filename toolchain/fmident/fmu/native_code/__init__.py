"""Native code: functions of an FMU by address, its log, its output, the state of the processor."""
