/* The model's functions in lanes. A vector that is longer than a register becomes several, all at
 * once, which takes the C compiler long: each generation of processors goes through the lanes in
 * vectors of its own length, with the same results. */
#include "lanes.h"

#include <math.h>

#include "elementary.h"
#include "model.h"
#define exp fmident_exp
#define tanh fmident_tanh

#define ZERO ((vec){0.0})
#define GET(from) GET_AS(vec, from)
#define PUT(to, value) PUT_AS(vec, to, value)

typedef double Two __attribute__((vector_size(8 * 2)));
#define vec Two
#define WIDTH 2
#define LINEAR(name) static int name##_in_twos
#define PART(name) name##_in_twos
#include "model_lanes.h"
#undef vec
#undef WIDTH
#undef LINEAR
#undef PART

#if FMIDENT_GENERATIONS
typedef double Four __attribute__((vector_size(8 * 4)));
#define vec Four
#define WIDTH 4
#define LINEAR(name) __attribute__((target("arch=x86-64-v3"))) static int name##_in_fours
#define PART(name) name##_in_fours
#include "model_lanes.h"
#undef vec
#undef WIDTH
#undef LINEAR
#undef PART

typedef double Eight __attribute__((vector_size(8 * 8)));
#define vec Eight
#define WIDTH 8
#define LINEAR(name) __attribute__((target("arch=x86-64-v4"))) static int name##_in_eights
#define PART(name) name##_in_eights
#include "model_lanes.h"

#define CALL(name)                                                                        \
  (__builtin_cpu_supports("x86-64-v4")   ? name##_in_eights(arg, res, stride)             \
   : __builtin_cpu_supports("x86-64-v3") ? name##_in_fours(arg, res, stride)              \
                                         : name##_in_twos(arg, res, stride))
#else
#define CALL(name) name##_in_twos(arg, res, stride)
#endif

int fmident_rhs_along(const double **arg, double **res, long stride) {
  return CALL(fmident_rhs_along);
}

int fmident_outputs_along(const double **arg, double **res, long stride) {
  return CALL(fmident_outputs_along);
}

#if FMIDENT_EVENTS
int fmident_indicators_along(const double **arg, double **res, long stride) {
  return CALL(fmident_indicators_along);
}

int fmident_samples_along(const double **arg, double **res, long stride) {
  return CALL(fmident_samples_along);
}

int fmident_starts_along(const double **arg, double **res, long stride) {
  return CALL(fmident_starts_along);
}

int fmident_update_along(const double **arg, double **res, long stride) {
  return CALL(fmident_update_along);
}
#endif
