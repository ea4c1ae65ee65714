/* FMI 3.0 over the functions of FMI 2.0, which are not exported then. Only what is different stands
 * in files whose names begin with fmi3: types, arrays, callbacks, adjoint derivatives.
 *
 * An array has the value reference of its first element; those of its elements follow. */
#ifndef FMIDENT_FMI3_LAYER_H
#define FMIDENT_FMI3_LAYER_H

#include "fmi3Functions.h"
#include "instance.h"

/* By value reference: number of elements of the variable that begins there; 0: none does. */
extern const int fmident_element_counts[];
#define FMIDENT_VR_TIME FMIDENT_VR_END
/* Event indicators are one array. */
#define FMIDENT_VR_INDICATORS (FMIDENT_VR_TIME + 1)

/* (t, x, u, p, c, ly, ldx) -> (sx, su, sp): fmident_directional, transposed */
fmident_Function fmident_adjoint;
/* (t, u, p, c, lx) -> (su, sp): fmident_directional_initial, transposed */
fmident_Function fmident_adjoint_initial;
/* (t, x, u, p, c) -> derivatives of states, outputs and state derivatives in time, knowns held; in
 * initialization mode calculated states move, too. */
fmident_Function fmident_along_time;
fmident_Function fmident_along_time_initial;

/* Whom an instance calls back; it stands for FMI 2.0's environment. */
typedef struct {
  fmi3InstanceEnvironment environment;
  fmi3LogMessageCallback log;
  const char *instantiate; /* the function */
  fmi3IntermediateUpdateCallback update; /* NULL: inputs are held */
  int within;   /* a step, so that inputs are set at its end */
  double *ends; /* of inputs */
} Host;

/* fmi3.c */
fmi3Instance fmident_instantiate3(const char *function, fmi2Type type, fmi3String name,
                                  fmi3String token, fmi3InstanceEnvironment environment,
                                  fmi3LogMessageCallback log,
                                  fmi3IntermediateUpdateCallback update);

/* fmi3_values.c: for messages; and number of values of variables of a type, or -1 where one is not of it. */
const char *fmident_name_of(fmi3ValueReference reference);
long fmident_count_values(const Instance *instance, const char *function, int type,
                          const fmi3ValueReference references[], size_t n);
/* Value references of all elements, to be freed; NULL where there is a refusal. The number of values
 * has to be `wanted`. */
unsigned *fmident_elements_of(const Instance *instance, const char *function,
                              const fmi3ValueReference references[], size_t n, size_t wanted);

#endif
