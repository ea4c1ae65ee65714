/* Functions of FMI 3.0 for what an FMU does not have: each says so. */
#include "fmi3_layer.h"

static fmi3Status absent(const Instance *m, const char *function, const char *why) {
  fmident_log(m, fmi2Error, "%s: %s", function, why);
  return fmi3Error;
}

static fmi3Status none_of_type(const Instance *m, const char *function, const char *type,
                               const fmi3ValueReference references[], size_t n) {
  if (n == 0) return fmi3OK;
  fmident_log(m, fmi2Error, "%s: there is no %s variable with value reference %u", function, type,
              references[0]);
  return fmi3Error;
}

static fmi3Status only_read(const Instance *m, const char *function, size_t n) {
  return n == 0 ? fmi3OK : absent(m, function, "no variable of this type can be set");
}

#define NO_TYPE(name, type, qualifier, c_type)                                                    \
  fmi3Status name(fmi3Instance m, const fmi3ValueReference r[], size_t n, qualifier c_type v[],   \
                  size_t count) {                                                                 \
    (void)v, (void)count;                                                                         \
    return none_of_type(m, #name, type, r, n);                                                    \
  }
#define NO_NUMBER(type)                            \
  NO_TYPE(fmi3Get##type, #type, , fmi3##type)      \
  NO_TYPE(fmi3Set##type, #type, const, fmi3##type)

NO_NUMBER(Float32)
NO_NUMBER(Int8)
NO_NUMBER(UInt8)
NO_NUMBER(Int16)
NO_NUMBER(UInt16)
NO_NUMBER(UInt32)
NO_NUMBER(Int64)
NO_NUMBER(UInt64)
NO_NUMBER(String)

/* Integer and Boolean variables are results only. */
fmi3Status fmi3SetInt32(fmi3Instance m, const fmi3ValueReference r[], size_t n,
                        const fmi3Int32 v[], size_t count) {
  (void)r, (void)v, (void)count;
  return only_read(m, "fmi3SetInt32", n);
}

fmi3Status fmi3SetBoolean(fmi3Instance m, const fmi3ValueReference r[], size_t n,
                          const fmi3Boolean v[], size_t count) {
  (void)r, (void)v, (void)count;
  return only_read(m, "fmi3SetBoolean", n);
}

fmi3Status fmi3GetBinary(fmi3Instance m, const fmi3ValueReference r[], size_t n, size_t sizes[],
                         fmi3Binary v[], size_t count) {
  (void)sizes, (void)v, (void)count;
  return none_of_type(m, "fmi3GetBinary", "Binary", r, n);
}

fmi3Status fmi3SetBinary(fmi3Instance m, const fmi3ValueReference r[], size_t n,
                         const size_t sizes[], const fmi3Binary v[], size_t count) {
  (void)sizes, (void)v, (void)count;
  return none_of_type(m, "fmi3SetBinary", "Binary", r, n);
}

/* Clocks: all their functions begin with the same arguments. */
#define NO_CLOCK(name, ...)                                                              \
  fmi3Status name(fmi3Instance m, const fmi3ValueReference r[], size_t n, __VA_ARGS__) { \
    (void)v;                                                                             \
    return none_of_type(m, #name, "Clock", r, n);                                        \
  }
NO_CLOCK(fmi3GetClock, fmi3Clock v[])
NO_CLOCK(fmi3SetClock, const fmi3Clock v[])
NO_CLOCK(fmi3GetShiftDecimal, fmi3Float64 v[])
NO_CLOCK(fmi3SetShiftDecimal, const fmi3Float64 v[])
NO_CLOCK(fmi3SetIntervalDecimal, const fmi3Float64 v[])
#undef NO_CLOCK
#define NO_CLOCK(name, ...)                                                              \
  fmi3Status name(fmi3Instance m, const fmi3ValueReference r[], size_t n, __VA_ARGS__) { \
    (void)v, (void)w;                                                                    \
    return none_of_type(m, #name, "Clock", r, n);                                        \
  }
NO_CLOCK(fmi3GetIntervalDecimal, fmi3Float64 v[], fmi3IntervalQualifier w[])
NO_CLOCK(fmi3GetShiftFraction, fmi3UInt64 v[], fmi3UInt64 w[])
NO_CLOCK(fmi3SetShiftFraction, const fmi3UInt64 v[], const fmi3UInt64 w[])
NO_CLOCK(fmi3SetIntervalFraction, const fmi3UInt64 v[], const fmi3UInt64 w[])

fmi3Status fmi3GetIntervalFraction(fmi3Instance m, const fmi3ValueReference r[], size_t n,
                                   fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                   fmi3IntervalQualifier qualifiers[]) {
  (void)counters, (void)resolutions, (void)qualifiers;
  return none_of_type(m, "fmi3GetIntervalFraction", "Clock", r, n);
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance m, fmi3ValueReference clock, fmi3Float64 time) {
  (void)clock, (void)time;
  return absent(m, "fmi3ActivateModelPartition", "there are no model partitions");
}

fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging_on, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3ClockUpdateCallback update, fmi3LockPreemptionCallback lock,
    fmi3UnlockPreemptionCallback unlock) {
  (void)name, (void)token, (void)resources, (void)visible, (void)logging_on, (void)update;
  (void)lock, (void)unlock;
  if (log) {
    log(environment, fmi3Error, "logStatusError",
        "fmi3InstantiateScheduledExecution: this FMU is not for Scheduled Execution");
  }
  return NULL;
}

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance m, fmi3ValueReference reference,
                                               size_t *n) {
  (void)reference, (void)n;
  return absent(m, "fmi3GetNumberOfVariableDependencies",
                "not supported (providesPerElementDependencies is false)");
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance m, fmi3ValueReference dependent,
                                       size_t elements[], fmi3ValueReference independents[],
                                       size_t independent_elements[], fmi3DependencyKind kinds[],
                                       size_t n) {
  (void)dependent, (void)elements, (void)independents, (void)independent_elements, (void)kinds;
  (void)n;
  return absent(m, "fmi3GetVariableDependencies",
                "not supported (providesPerElementDependencies is false)");
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance m) {
  return absent(m, "fmi3EnterConfigurationMode", "there are no structural parameters");
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance m) {
  return absent(m, "fmi3ExitConfigurationMode", "there are no structural parameters");
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance m) {
  return absent(m, "fmi3EvaluateDiscreteStates",
                "not supported (providesEvaluateDiscreteStates is false)");
}

fmi3Status fmi3EnterStepMode(fmi3Instance m) {
  return absent(m, "fmi3EnterStepMode", "there is no event mode (hasEventMode is false)");
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance m, const fmi3ValueReference references[], size_t n,
                                    const fmi3Int32 orders[], fmi3Float64 values[], size_t count) {
  (void)references, (void)orders, (void)values, (void)count;
  if (n == 0) return fmi3OK;
  return absent(m, "fmi3GetOutputDerivatives", "not supported (maxOutputDerivativeOrder is 0)");
}
