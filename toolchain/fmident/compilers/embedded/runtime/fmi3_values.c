/* FMI 3.0: variables by value reference, arrays as a whole. */
#include "fmi3_layer.h"

#include <stdlib.h>

static const char *type_name(int type) {
  return type == TYPE_REAL ? "Float64" : type == TYPE_INTEGER ? "Int32" : "Boolean";
}

const char *fmident_name_of(fmi3ValueReference reference) {
  if (reference < FMIDENT_VR_END) return fmident_names[reference];
  return reference == FMIDENT_VR_TIME ? "time" : "an event indicator";
}

/* Number of elements of the variable with a value reference, 0 where there is none of this type. */
static size_t size_of(fmi3ValueReference reference, int type) {
  if (reference == FMIDENT_VR_TIME) return type == TYPE_REAL;
  if (reference == FMIDENT_VR_INDICATORS && !FMIDENT_CONSTRAINED) {
    return type == TYPE_REAL ? FMIDENT_NR : 0;
  }
  if (reference > FMIDENT_VR_TIME || fmident_type(reference) != type) return 0;
  return (size_t)fmident_element_counts[reference];
}

long fmident_count_values(const Instance *m, const char *function, int type,
                          const fmi3ValueReference references[], size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t size = size_of(references[i], type);
    if (size == 0) {
      fmident_log(m, fmi2Error, "%s: there is no %s variable with value reference %u", function,
                  type_name(type), references[i]);
      return -1;
    }
    count += size;
  }
  return (long)count;
}

static int fits(const Instance *m, const char *function, int type,
                const fmi3ValueReference references[], size_t n, size_t wanted) {
  const long count = fmident_count_values(m, function, type, references, n);
  if (count < 0) return 0;
  if ((size_t)count == wanted) return 1;
  fmident_log(m, fmi2Error, "%s: the variables have %ld values together, not %ld", function, count,
              (long)wanted);
  return 0;
}

unsigned *fmident_elements_of(const Instance *m, const char *function,
                              const fmi3ValueReference references[], size_t n, size_t wanted) {
  unsigned *elements, *next;
  if (!fits(m, function, TYPE_REAL, references, n, wanted)) return NULL;
  next = elements = malloc((wanted + 1) * sizeof *elements);
  if (!elements) {
    fmident_log(m, fmi2Error, "%s: out of memory", function);
    return NULL;
  }
  for (size_t i = 0; i < n; ++i) {
    const size_t size = size_of(references[i], TYPE_REAL);
    for (size_t k = 0; k < size; ++k) *next++ = references[i] + (unsigned)k;
  }
  return elements;
}

/* In Co-Simulation, too: they are variables. */
static fmi3Status get_indicators(Instance *m, double *values) {
#if FMIDENT_EVENTS
  if (fmident_refused(m, "fmi3GetFloat64", STATE_INITIALIZATION | STATE_RUNNING | STATE_TERMINATED)) {
    return fmi3Error;
  }
  if (fmident_ensure(m, VALID_C | VALID_X) || fmident_prepare_reading(m)) return fmi3Error;
  if (fmident_indicator_values(m, values)) {
    fmident_log(m, fmi2Discard, "time %.17g: %s", m->now.t, m->trouble);
    return fmi3Discard;
  }
#else
  (void)m, (void)values;
#endif
  return fmi3OK;
}

fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference references[], size_t n,
                          fmi3Float64 values[], size_t n_values) {
  Instance *m = instance;
  if (!fits(m, "fmi3GetFloat64", TYPE_REAL, references, n, n_values)) return fmi3Error;
  for (size_t i = 0; i < n; ++i) {
    const size_t size = size_of(references[i], TYPE_REAL);
    if (references[i] == FMIDENT_VR_TIME) {
      *values++ = m->now.t;
      continue;
    }
    if (references[i] == FMIDENT_VR_INDICATORS) {
      const fmi3Status status = get_indicators(m, values);
      if (status != fmi3OK) return status;
      values += size;
      continue;
    }
    for (size_t k = 0; k < size; ++k) {
      const fmi2ValueReference element = references[i] + (unsigned)k;
      if (fmi2GetReal(m, &element, 1, values++) != fmi2OK) return fmi3Error;
    }
  }
  return fmi3OK;
}

/* Within a step an input receives its value at the end of the step. */
static fmi3Status set_end(const Instance *m, Host *host, unsigned reference, double value) {
  const unsigned u = reference - FMIDENT_VR_U;
  if (u >= FMIDENT_NU) {
    fmident_log(m, fmi2Error, "fmi3SetFloat64: '%s' cannot be set within a step: it is not an input",
                fmident_name_of(reference));
    return fmi3Error;
  }
  host->ends[u] = value;
  return fmi3OK;
}

fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference references[], size_t n,
                          const fmi3Float64 values[], size_t n_values) {
  Instance *m = instance;
  Host *host = m->callbacks.componentEnvironment;
  if (!fits(m, "fmi3SetFloat64", TYPE_REAL, references, n, n_values)) return fmi3Error;
  for (size_t i = 0; i < n; ++i) {
    const size_t size = size_of(references[i], TYPE_REAL);
    if (references[i] >= FMIDENT_VR_END) {
      fmident_log(m, fmi2Error, "fmi3SetFloat64: '%s' cannot be set", fmident_name_of(references[i]));
      return fmi3Error;
    }
    for (size_t k = 0; k < size; ++k, ++values) {
      const fmi2ValueReference element = references[i] + (unsigned)k;
      const fmi3Status status = host->within
                                    ? set_end(m, host, element, *values)
                                    : (fmi3Status)fmi2SetReal(m, &element, 1, values);
      if (status != fmi3OK) return status;
    }
  }
  return fmi3OK;
}

fmi3Status fmi3GetInt32(fmi3Instance instance, const fmi3ValueReference references[], size_t n,
                        fmi3Int32 values[], size_t n_values) {
  if (!fits(instance, "fmi3GetInt32", TYPE_INTEGER, references, n, n_values)) return fmi3Error;
  for (size_t i = 0; i < n; ++i) {
    const size_t size = size_of(references[i], TYPE_INTEGER);
    for (size_t k = 0; k < size; ++k) {
      const fmi2ValueReference element = references[i] + (unsigned)k;
      fmi2Integer value;
      if (fmi2GetInteger(instance, &element, 1, &value) != fmi2OK) return fmi3Error;
      *values++ = value;
    }
  }
  return fmi3OK;
}

fmi3Status fmi3GetBoolean(fmi3Instance instance, const fmi3ValueReference references[], size_t n,
                          fmi3Boolean values[], size_t n_values) {
  if (!fits(instance, "fmi3GetBoolean", TYPE_BOOLEAN, references, n, n_values)) return fmi3Error;
  for (size_t i = 0; i < n; ++i) {
    const size_t size = size_of(references[i], TYPE_BOOLEAN);
    for (size_t k = 0; k < size; ++k) {
      const fmi2ValueReference element = references[i] + (unsigned)k;
      fmi2Boolean value;
      if (fmi2GetBoolean(instance, &element, 1, &value) != fmi2OK) return fmi3Error;
      *values++ = value != fmi2False;
    }
  }
  return fmi3OK;
}
