/* Transfers of values and the iteration of discrete states. */
#include <string.h>

#include "loops.h"

enum { MOST_ITERATIONS = 1000 };

int move_values(Run *run, const Program *program, int64_t step) {
  for (int64_t k = 0; k < program->count; ++k) {
    const Transfer *x = &program->transfers[k];
    void *const values = x->values + x->stride * step;
    const size_t count = (size_t)x->count;
    int status;
    if (x->kind == SLOPES) {
      status = CALL(SetSlopes, x->function, run->component, x->references, count, x->orders, values);
    } else if (run->version == 3 && x->width != NOT_GIVEN) {
      status = CALL(Move3, x->function, run->component, x->references, count, values,
                    (size_t)x->width);
    } else {
      status = CALL(Move2, x->function, run->component, x->references, count, values);
    }
    status = note(run, x->function, status);
    if (status != 0) return status;
  }
  return 0;
}

/* Sets the interpolated inputs to their values at t. */
int set_lines(Run *run, double t) {
  const int64_t row = run->row, width = run->input_width;
  const double *times = run->times + row, *values = run->input_values + row * width;
  const double share = (t - times[0]) / (times[1] - times[0]);
  const size_t count = (size_t)run->input_count;
  double *work = run->input_work;
  int status;
  for (int64_t k = 0; k < width; ++k) {
    const double before = values[k], after = values[width + k];
    work[k] = share < 1.0 ? before + share * (after - before) : after;
  }
  if (run->version == 3) {
    status = CALL(Move3, run->set_inputs, run->component, run->input_references, count, work,
                  (size_t)width);
  } else {
    status = CALL(Move2, run->set_inputs, run->component, run->input_references, count, work);
  }
  return note(run, run->set_inputs, status);
}

/* Of FMI 2.0. */
typedef struct {
  int32_t again, ends, nominals, values, timed;
  double next;
} EventInfo;

/* Iterates the discrete states in event mode. Returns why to stop, GO_ON or NEW_NOMINALS. */
int update_discrete_states(Run *run) {
  bool nominals = false;
  for (int k = 0; k < MOST_ITERATIONS; ++k) {
    bool again, ends, timed;
    double next;
    int status;
    if (run->version == 3) {
      bool changed = false, values = false;
      again = ends = timed = false;
      status = CALL(Update3, run->update, run->component, &again, &ends, &changed, &values, &timed,
                    &next);
      nominals |= changed;
    } else {
      EventInfo info;
      memset(&info, 0, sizeof info);
      status = CALL(OnPointer, run->update, run->component, &info);
      again = info.again != 0, ends = info.ends != 0, timed = info.timed != 0;
      nominals |= info.nominals != 0;
      next = info.next;
    }
    if (note(run, run->update, status) != 0) return FAILED_CALL;
    if (ends) return TERMINATED;
    if (!again) {
      run->next_event = timed ? next : INFINITY;
      return nominals ? NEW_NOMINALS : GO_ON;
    }
  }
  return UNSETTLED;
}
