/* Communication steps of Model Exchange, which CVODE integrates, and their events. */
#include "model_exchange.h"

enum { SOLVER = OWN, TOO_MANY, PAUSED, NO_SENSITIVITIES, CONTRADICTION };
enum { NOT_FINITE = -100 }; /* status noted for a derivative that is NaN or infinite */

/* In one communication step; events at one instant because indicators changed their sides. */
enum { MOST_STEPS = 2000000, MOST_EVENTS = 10000, MOST_REPEATS = 20 };

/* Of a communication step: a gap that is close, and how many in a row are endless; an event so near
 * the end is meant to be there; how far behind it an event is repeated at first. */
static const double close_gap = 1e-7, rounding = 1e-10, nearest = 1e-9, farther = 10.0;
enum { MOST_CLOSE = 100, FEW_STEPS = 4 };

/* Effects of an event, to be added. */
enum { SOME = 1, LARGE = 2, SIDES = 4 };

enum { CV_ONE_STEP = 2, CV_ROOT_RETURN = 2 };

typedef double *(*ArrayOf)(void *);
typedef double *(*ColumnOf)(void *, int64_t);
typedef int (*Reinit)(void *, double, void *);
typedef int (*SetTolerances)(void *, double, void *);
typedef int (*Advance)(void *, double, void *, double *, int);
typedef int (*Direction2)(void *, const uint32_t *, size_t, const uint32_t *, size_t, const double *,
                          double *);
typedef int (*Direction3)(void *, const uint32_t *, size_t, const uint32_t *, size_t, const double *,
                          size_t, double *, size_t);

static const Program nothing = {NULL, 0};

static int call_for(ModelExchange *m, void *function, double *values, int64_t count) {
  return CALL(OnVector, function, m->run.component, values, (size_t)count);
}

static int note_vector(ModelExchange *m, void *function, double *values, int64_t count) {
  return note(&m->run, function, call_for(m, function, values, count));
}

static bool good(int status) { return status == 0 || status == 1; }

/* Sets the FMU to a time and states. */
EXPORTED int fmident_place(ModelExchange *m, double t, const double *states) {
  return place(m, t, states);
}

int place(ModelExchange *m, double t, const double *states) {
  Run *const run = &m->run;
  int status = note(run, m->set_time, CALL(OnTime, m->set_time, run->component, t));
  if (status == 0 && run->input_width > 0) status = set_lines(run, t);
  if (status == 0 && m->states > 0) {
    status = note_vector(m, m->set_states, (double *)states, m->states);
  }
  return status;
}

/* Derivatives of the states, for CVODE: 0 success, 1 try a smaller step, -1 give up. */
EXPORTED int fmident_derivatives(double t, void *y, void *ydot, void *user) {
  ModelExchange *const m = user;
  double *const result = ((ArrayOf)m->array_of)(ydot);
  int status = place(m, t, ((ArrayOf)m->array_of)(y));
  if (m->states == 0) {
    result[0] = 0.0;
  } else if (status == 0) {
    status = note_vector(m, m->get_derivatives, result, m->states);
  }
  if (status != 0) return status == 2 ? 1 : -1;
  for (int64_t k = 0; k < m->states; ++k) {
    if (!isfinite(result[k])) {
      m->run.failed_function = m->get_derivatives;
      m->run.call_status = NOT_FINITE;
      return 1;
    }
  }
  return 0;
}

/* Event indicators, for CVODE. FMI treats zero as negative, CVODE as neither: it would report a zero
 * on the way up, and miss the event after it. At the start of integration, leaving zero does not
 * count as one. */
EXPORTED int fmident_indicators(double t, void *y, double *values, void *user) {
  ModelExchange *const m = user;
  int status = place(m, t, ((ArrayOf)m->array_of)(y));
  if (status == 0) {
    status = note_vector(m, m->get_indicators, values, m->indicators);
    for (int64_t k = 0; t != m->began && k < m->indicators; ++k) {
      if (values[k] == 0.0) values[k] = -1e-300;
    }
  }
  return status == 0 ? 0 : -1;
}

/* Writes the derivatives in the direction of state j to a column. */
int direction(ModelExchange *m, int64_t j, double *column) {
  const int64_t n = m->states, count = m->reference_count;
  const uint32_t *known = m->state_references;
  const double *seeds = m->work;
  size_t known_count = (size_t)count, seed_count = (size_t)n;
  int status;
  for (int64_t k = 0; k < n; ++k) m->work[k] = k == j ? 1.0 : 0.0;
  if (count == n) { /* scalars: one is enough */
    known += j, seeds += j;
    known_count = seed_count = 1;
  }
  if (m->run.version == 3) {
    status = CALL(Direction3, m->directional, m->run.component, m->derivative_references,
                  (size_t)count, known, known_count, seeds, seed_count, column, (size_t)n);
  } else {
    status = CALL(Direction2, m->directional, m->run.component, m->derivative_references,
                  (size_t)count, known, known_count, seeds, column);
  }
  return note(&m->run, m->directional, status);
}

/* Jacobian for CVODE, by columns, from directional derivatives. */
EXPORTED int fmident_jacobian(double t, void *y, void *f, void *matrix, void *user, void *w1,
                              void *w2, void *w3) {
  ModelExchange *const m = user;
  (void)f, (void)w1, (void)w2, (void)w3;
  int status = place(m, t, ((ArrayOf)m->array_of)(y));
  for (int64_t j = 0; status == 0 && j < m->states; ++j) {
    status = direction(m, j, ((ColumnOf)m->column_of)(matrix, j));
  }
  return status == 0 ? 0 : status == 2 ? 1 : -1;
}

/* ------------------------------------------------------------------------------ events */

/* Parts of the memory around an event. */
static double *states_before(ModelExchange *m) { return m->work + m->states; }
static double *slopes_before(ModelExchange *m) { return m->work + 2 * m->states; }
static double *slopes_after(ModelExchange *m) { return m->work + 3 * m->states; }
static double *sides_before(ModelExchange *m) { return m->work + 4 * m->states; }
static double *sides_after(ModelExchange *m) { return sides_before(m) + m->indicators; }

static bool read_slopes_and_sides(ModelExchange *m, double *slopes, double *sides) {
  int status = 0;
  if (m->states > 0) status = call_for(m, m->get_derivatives, slopes, m->states);
  if (good(status) && m->indicators > 0) {
    status = call_for(m, m->get_indicators, sides, m->indicators);
  }
  return good(status);
}

/* Stores states, derivatives and indicators before an event. Returns success. */
static bool remember(ModelExchange *m) {
  if (m->memory == NULL) return false;
  for (int64_t k = 0; k < m->states; ++k) states_before(m)[k] = m->x[k];
  return read_slopes_and_sides(m, slopes_before(m), sides_before(m));
}

/* Returns the effect of an event on what was stored before it. It is large if states changed, or
 * derivatives so that they move a state within this communication step by more than the tolerance.
 * Sign changes of indicators count, since the integrator would take them for roots, or miss roots
 * that reverse them. */
static int64_t effect_of_event(ModelExchange *m) {
  const double *times = m->run.times + m->run.row, step = times[1] - times[0];
  int64_t effect = 0;
  double worth = 0.0;
  if (!read_slopes_and_sides(m, slopes_after(m), sides_after(m))) return SOME + LARGE;
  m->worth = INFINITY;
  for (int64_t k = 0; k < m->states; ++k) {
    const double change = fabs(slopes_before(m)[k] - slopes_after(m)[k]);
    if (m->x[k] != states_before(m)[k] || !isfinite(change)) return SOME + LARGE;
    worth = larger(worth, change * step / (m->allowed[k] + m->relative * fabs(m->x[k])));
  }
  m->worth = worth;
  if (worth > 0.0) effect = worth > 1.0 ? SOME + LARGE : SOME;
  for (int64_t k = 0; k < m->indicators; ++k) {
    if ((sides_before(m)[k] > 0.0) != (sides_after(m)[k] > 0.0)) effect |= SOME + SIDES;
  }
  return effect;
}

static void restart(ModelExchange *m, double t) {
  CALL(Reinit, m->reinit, m->memory, t, m->state_vector);
  m->began = t;
  ++m->restarts;
}

static int read_nominals(ModelExchange *m) {
  const int64_t n = m->states;
  const int status = note_vector(m, m->get_nominals, m->allowed, n);
  for (int64_t k = 0; status == 0 && k < n; ++k) {
    const double size = fabs(m->allowed[k]);
    m->allowed[k] = m->relative * (0.0 < size && size < INFINITY ? size : 1.0);
  }
  return status;
}

/* Leaves event mode and restarts the integration. The integrator keeps its order and step if the
 * event changed no state, derivative or sign of an indicator, except at a root: the rest of that
 * step belongs to the old equations. */
static int resume(ModelExchange *m, bool nominals, bool remembered) {
  Run *const run = &m->run;
  const int status = CALL(OnInstance, m->enter_continuous, run->component);
  if (note(run, m->enter_continuous, status) != 0) return FAILED_CALL;
  if (m->states > 0) {
    if (note_vector(m, m->get_states, m->x, m->states) != 0) return FAILED_CALL;
    if (nominals && read_nominals(m) != 0) return FAILED_CALL;
    if (nominals && m->memory != NULL) {
      CALL(SetTolerances, m->set_tolerances, m->memory, m->relative, m->tolerance_vector);
    }
  }
  m->effect = remembered ? effect_of_event(m) : SOME + LARGE;
  if (m->memory != NULL && (m->root != 0 || nominals || m->effect != 0)) restart(m, run->time);
  return GO_ON;
}

/* Settles the events of initialisation; the FMU is in event mode. */
EXPORTED int fmident_settle_model_exchange(ModelExchange *m) {
  const int outcome = update_discrete_states(&m->run);
  return outcome < 0 ? resume(m, true, false) : outcome;
}

static int handle_once(ModelExchange *m, const Program *inputs, int64_t step) {
  Run *const run = &m->run;
  const bool remembered = remember(m), differentiates = m->sensitivities != NULL;
  if (differentiates && m->on_event(0, inputs->count > 0) != 0) return NO_SENSITIVITIES;
  const int status = CALL(OnInstance, run->enter_event, run->component);
  if (note(run, run->enter_event, status) != 0 || move(run, inputs, step) != 0) return FAILED_CALL;
  ++run->events;
  int outcome = update_discrete_states(run);
  if (outcome >= 0) return outcome;
  outcome = resume(m, outcome == NEW_NOMINALS, remembered);
  m->root = 0;
  if (outcome >= 0 || !differentiates) return outcome;
  return m->on_event(1, inputs->count > 0) != 0 ? NO_SENSITIVITIES : GO_ON;
}

static void note_repeated(ModelExchange *m, double time) {
  if (m->repeated == 0) m->repeated_event = time;
  ++m->repeated;
}

/* Handles an event, in which it sets inputs. If only signs of indicators changed, the FMU may not
 * have evaluated a relation since; it is repeated until all signs stay. */
static int handle_event(ModelExchange *m, const Program *inputs, int64_t step) {
  int outcome = handle_once(m, inputs, step);
  int64_t effect = m->effect;
  double worth = m->worth;
  for (int k = 0; outcome < 0 && m->effect & SIDES && m->sensitivities == NULL; ++k) {
    if (k == MOST_REPEATS) return CONTRADICTION;
    outcome = handle_once(m, &nothing, 0);
    if (m->effect & LARGE) note_repeated(m, m->run.time);
    effect |= m->effect;
    worth = larger(worth, m->worth);
  }
  m->effect = effect, m->worth = worth;
  return outcome;
}

/* The same for an instance beside the simulated one. */
EXPORTED int fmident_handle_event(ModelExchange *m, const Transfer *inputs, int64_t count,
                                  int64_t step) {
  const Program program = {inputs, count};
  return handle_event(m, &program, step);
}

/* Decides when to repeat the handled event, if ever. At a root an FMU with iteratively solved
 * equations may find that its relation does not hold yet, and then never evaluate it again, since
 * the indicator has already changed its sign. An event without large effect is therefore repeated
 * at increasing distances, which is harmless if it has happened, and at the end of the run: until
 * then it may be late. */
static void plan_repetition(ModelExchange *m, bool root, double step, double final) {
  const double time = m->run.time;
  if (root) {
    m->doubted = time;
    m->distance = nearest * step;
  } else {
    const double lateness = time - m->doubted, error = m->worth * lateness / step;
    if (error > 1.0) {
      if (m->late == 0) m->late_event = m->doubted, m->lateness = lateness, m->error = error;
      ++m->late;
    }
    if (m->effect & LARGE) note_repeated(m, m->doubted);
    m->distance *= farther;
  }
  const bool over = m->effect & LARGE || time >= final || m->sensitivities != NULL;
  m->repeat = over ? INFINITY : smaller(m->doubted + m->distance, final);
}

/* Records an event. Returns whether events accumulate endlessly. */
static bool accumulates(ModelExchange *m, double step) {
  Run *const run = &m->run;
  const double gap = run->time - m->last_event, ratio = gap / m->last_gap;
  ++run->interval_events;
  m->close = gap < close_gap * step ? m->close + 1 : 0;
  m->shrinking = gap < m->last_gap ? m->shrinking + 1 : 0;
  /* Gaps that shrink like a geometric series, down to the integrator's first steps. (Those of a
   * shaft that speeds up shrink ever less: ratios 0.94 after 8 events, 0.97 after 20.) */
  const int64_t row = m->shrinking;
  const bool geometric = (row >= 8 && ratio < 0.9) || (row >= 20 && ratio < 0.95);
  const bool hasty = geometric && m->since_event <= FEW_STEPS;
  m->since_event = 0;
  m->last_event = run->time;
  m->last_gap = gap;
  return hasty || run->interval_events > MOST_EVENTS || m->close > MOST_CLOSE;
}

/* ------------------------------------------------------------------------- integration */

/* Takes one step of the integrator, not beyond `stop`. Returns CVODE's flag. */
static int integrate(ModelExchange *m, double stop) {
  Run *const run = &m->run;
  const double t = run->time, close = 1e-14 * larger(fabs(t), fabs(stop));
  if (m->memory == NULL || stop - t <= close) {
    run->time = stop; /* nothing to integrate, or nothing that changes in so short a time */
    return 0;
  }
  if (CALL(OnTime, m->set_stop_time, m->memory, stop) != 0) {
    /* An event that changed nothing else brought a time event nearer than the end of the step within
     * which the integrator had found it: the rest of that step is not used. */
    restart(m, t);
    CALL(OnTime, m->set_stop_time, m->memory, stop);
  }
  const int flag =
      CALL(Advance, m->cvode, m->memory, stop, m->state_vector, &m->returned, CV_ONE_STEP);
  /* CVODE may miss its stop by rounding. */
  if (flag >= 0) run->time = fabs(m->returned - stop) <= close ? stop : m->returned;
  return flag;
}

/* Reports a completed step to the FMU. Returns why to stop, GO_ON or EVENT. */
static int complete(ModelExchange *m) {
  int32_t event = 0, ends = 0; /* FMI 3.0 writes one byte, FMI 2.0 four */
  if (m->completed == NULL) return GO_ON;
  const int status = CALL(Completed, m->completed, m->run.component, 1, &event, &ends);
  if (note(&m->run, m->completed, status) != 0) return FAILED_CALL;
  return ends != 0 ? TERMINATED : event != 0 ? EVENT : GO_ON;
}

/* Takes one step of the integrator; `event` says whether one is due at its end. */
static int step_to(ModelExchange *m, double stop, double due, bool *event) {
  Run *const run = &m->run;
  const double before = run->time;
  if (m->budget == 0) return PAUSED;
  --m->budget, ++m->steps, ++m->interval_steps, ++m->since_event;
  const int flag = integrate(m, stop);
  if (flag < 0) {
    m->flag = flag;
    return SOLVER;
  }
  m->root = flag == CV_ROOT_RETURN;
  if (m->sensitivities != NULL && sensitivities_step(m->sensitivities, before, run->time) != 0) {
    return NO_SENSITIVITIES;
  }
  if (m->interval_steps > MOST_STEPS) return TOO_MANY;
  if (place(m, run->time, m->x) != 0) return FAILED_CALL;
  const int outcome = complete(m);
  if (outcome >= 0) return outcome;
  *event = m->root != 0 || run->time >= smaller(due, m->repeat);
  /* The FMU wants an event, but not for ever: time goes on. */
  return outcome == EVENT && !*event ? handle_event(m, &nothing, 0) : GO_ON;
}

/* Integrates from the present time to `end` with all events on the way. */
static int advance(ModelExchange *m, double begin, double end, double final) {
  Run *const run = &m->run;
  const double near = rounding * (end - begin);
  while (run->time < end) {
    const double due = fabs(run->next_event - end) <= near ? end : run->next_event;
    const double stop = smaller(smaller(end, due), m->repeat);
    bool event = stop <= run->time;
    if (!event) {
      const int outcome = step_to(m, stop, due, &event);
      if (outcome >= 0) return outcome;
    }
    if (event) {
      const bool root = m->root != 0, timed = run->time >= due;
      const int outcome = handle_event(m, &nothing, 0);
      if (outcome >= 0) return outcome;
      if (root || !timed) plan_repetition(m, root, end - begin, final);
      if ((root || timed) && accumulates(m, end - begin)) return ZENO;
    }
  }
  return GO_ON;
}

static int communication_step(ModelExchange *m, int64_t i) {
  Run *const run = &m->run;
  const double *times = run->times, final = times[run->last];
  int outcome = GO_ON;
  if (m->inside == 0) {
    run->row = i;
    m->interval_steps = run->interval_events = run->warned = 0;
    if (m->between.count > 0) outcome = handle_event(m, &m->between, i);
    m->inside = 1;
  }
  if (outcome < 0) outcome = advance(m, times[i], times[i + 1], final);
  if (outcome < 0 && run->jumps[i + 1]) outcome = handle_event(m, &m->jump, i);
  if (outcome == TERMINATED && run->time >= final) {
    outcome = GO_ON; /* it ends where the run does: no failure */
    run->ended = 1;
  }
  if (outcome >= 0) return outcome;
  if (move(run, &m->record, i) != 0) return FAILED_CALL;
  if (m->sensitivities == NULL) return GO_ON;
  const int status = sensitivities_record(m->sensitivities, run->time, i + 1);
  return status == 0 ? GO_ON : NO_SENSITIVITIES;
}

/* Takes communication steps `begin` to `end`. After a pause, when the budget of steps is used up,
 * the same call continues. Returns whether none failed. */
EXPORTED int fmident_run_model_exchange(ModelExchange *m, int64_t *state, int64_t begin,
                                        int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    state[STEP] = i;
    const int outcome = communication_step(m, i);
    if (outcome >= 0) {
      state[WHY] = outcome;
      state[STATUS] = m->run.call_status;
      return 0;
    }
    state[WARNINGS] += m->run.warned;
    m->inside = 0;
  }
  return 1;
}

EXPORTED int64_t fmident_size_of_model_exchange(void) { return sizeof(ModelExchange); }
