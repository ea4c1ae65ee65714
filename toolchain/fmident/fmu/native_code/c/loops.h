/* What the loops over communication steps share. The structures have their like in structures.py;
 * all their members are eight bytes wide. */
#ifndef FMIDENT_LOOPS_H
#define FMIDENT_LOOPS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* Sets the floating-point state that the ABI demands, which a called function may have changed:
 * rounding to nearest, denormal numbers kept, no traps (System V ABI for AMD64, section 3.2.1;
 * Procedure Call Standard for Arm 64). Flags that were raised are left. */
static inline void restore_floating_point(void) {
#if defined(__x86_64__)
  if ((_mm_getcsr() & 0xFFC0) != 0x1F80) _mm_setcsr(0x1F80);
#elif defined(__aarch64__)
  uint64_t state;
  __asm__ volatile("mrs %0, fpcr" : "=r"(state));
  if (state != 0) __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
#endif
}

static inline int restored(int status) {
  restore_floating_point();
  return status;
}

/* Calls a function of an FMU or of SUNDIALS by its address. */
#define CALL(kind, address, ...) restored(((kind)(address))(__VA_ARGS__))

typedef int (*OnInstance)(void *);
typedef int (*OnTime)(void *, double);
typedef int (*OnPointer)(void *, void *);
typedef int (*OnVector)(void *, double *, size_t);
typedef int (*Move2)(void *, const uint32_t *, size_t, void *);
typedef int (*Move3)(void *, const uint32_t *, size_t, void *, size_t);
typedef int (*SetSlopes)(void *, const uint32_t *, size_t, const int32_t *, const void *);
typedef int (*DoStep2)(void *, double, double, int);
typedef int (*DoStep3)(void *, double, double, bool, bool *, bool *, bool *, double *);
typedef int (*Update3)(void *, bool *, bool *, bool *, bool *, bool *, double *);

/* What a step transfers: rows of a table that Python fills, see program.py. */
enum { VALUES, SLOPES };
enum { NOT_GIVEN = -1 };
typedef struct {
  int64_t kind;
  void *function;
  const uint32_t *references;
  int64_t count;
  char *values; /* of step 0 */
  int64_t stride, width;
  const int32_t *orders;
} Transfer;

typedef struct {
  const Transfer *transfers;
  int64_t count;
} Program;

/* Why a loop stopped, in the first element of its state; loops have more from OWN on. */
enum { FAILED_CALL, TERMINATED, UNSETTLED, ZENO, OWN };
/* Instead of a reason: go on; go on with new nominal values; handle an event. */
enum { GO_ON = -1, NEW_NOMINALS = -2, EVENT = -2 };

/* The state: why it stopped, in which step it is or was, the status of the failed call, and in how
 * many steps the FMU has warned. */
enum { WHY, STEP, STATUS, WARNINGS };

typedef struct {
  int64_t version;
  void *component;
  const double *times;
  int64_t last; /* of the times */
  int64_t row;  /* the present step leads from times[row] to times[row + 1] */
  double time, next_event;
  /* Inputs that are interpolated within a step; width 0 for none. */
  void *set_inputs;
  const uint32_t *input_references;
  int64_t input_count, input_width;
  const double *input_values;
  double *input_work;
  void *enter_event, *update;
  const uint8_t *jumps; /* whether inputs jump at an instant */
  void *failed_function;
  int64_t call_status, warned, events, interval_events, ended;
} Run;

/* Records what a call returned. Returns its status, or 0 where the run may continue. */
static inline int note(Run *run, void *function, int status) {
  if (status == 0) return 0;
  if (status == 1) {
    run->warned = 1;
    return 0;
  }
  run->failed_function = function;
  run->call_status = status;
  return status;
}

int move_values(Run *run, const Program *program, int64_t step);

/* Sets or gets the values of a step, of which there may be none. */
static inline int move(Run *run, const Program *program, int64_t step) {
  return program->count > 0 ? move_values(run, program, step) : 0;
}

int set_lines(Run *run, double t);
int update_discrete_states(Run *run);

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

#endif
