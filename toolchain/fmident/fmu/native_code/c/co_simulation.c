/* Communication steps of Co-Simulation, of FMI 2.0 and 3.0. */
#include "loops.h"

enum { WRONG_TIME = OWN, FIXED_STEP, UNASKED };
enum { MOST_EVENTS = 10000, MOST_STALLED = 100 };

/* Of an instant: the FMU adds the size of the step to its beginning. */
static const double rounding = 4e-16;

typedef struct {
  Run run;
  /* Inputs before and after a step, those that jump in event mode, and what is recorded. */
  Program before, after, jump, record;
  void *do_step, *enter_step;
  int64_t event_mode, variable_step, stalled, early_returns;
  double returned;
} CoSimulation;

static const Program nothing = {NULL, 0};

/* Called by an FMU of FMI 3.0 that wants inputs within a step. */
EXPORTED void fmident_intermediate_update(CoSimulation *c, double t, bool wanted, bool readable,
                                          bool done, bool able, bool *early, double *until) {
  Run *const run = &c->run;
#if defined(__x86_64__)
  const unsigned own = _mm_getcsr();
#elif defined(__aarch64__)
  uint64_t own;
  __asm__ volatile("mrs %0, fpcr" : "=r"(own));
#endif
  (void)readable, (void)done, (void)able, (void)until;
  restore_floating_point();
  if (early != NULL) *early = false;
  if (wanted && run->input_width != 0) {
    const double end = run->times[run->row + 1];
    set_lines(run, fabs(end - t) <= rounding * larger(fabs(end), fabs(t)) ? end : t);
  }
#if defined(__x86_64__)
  _mm_setcsr(own);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(own));
#endif
}

/* Settles an event and enters step mode. Returns why to stop, or GO_ON. */
EXPORTED int fmident_settle_co_simulation(CoSimulation *c) {
  Run *const run = &c->run;
  const int outcome = update_discrete_states(run);
  if (outcome >= 0) return outcome;
  const int status = CALL(OnInstance, c->enter_step, run->component);
  return note(run, c->enter_step, status) != 0 ? FAILED_CALL : GO_ON;
}

/* Handles an event, in which it sets inputs. */
static int handle_event(CoSimulation *c, const Program *inputs, int64_t step) {
  Run *const run = &c->run;
  const int status = CALL(OnInstance, run->enter_event, run->component);
  if (note(run, run->enter_event, status) != 0 || move(run, inputs, step) != 0) return FAILED_CALL;
  ++run->events;
  return fmident_settle_co_simulation(c);
}

/* Calls fmi3DoStep once. Returns why to stop, GO_ON or EVENT. */
static int step_to(CoSimulation *c, double stop) {
  Run *const run = &c->run;
  bool event = false, ends = false, early = false;
  double reached = 0.0;
  const double t = run->time;
  const int status = CALL(DoStep3, c->do_step, run->component, t, stop - t, true, &event, &ends,
                          &early, &reached);
  if (note(run, c->do_step, status) != 0) return FAILED_CALL;
  if (early) {
    const double close = 1e-12 * larger(fabs(t), fabs(stop));
    c->returned = reached;
    if (!(t - close <= reached && reached <= stop + close)) return WRONG_TIME;
    run->time = smaller(larger(reached, t), stop);
    ++c->early_returns;
  } else {
    run->time = stop;
  }
  if (ends) return TERMINATED;
  if (!event) return GO_ON;
  return c->event_mode ? EVENT : UNASKED;
}

/* Steps to `end` with all events on the way. */
static int advance(CoSimulation *c, double end) {
  Run *const run = &c->run;
  while (run->time < end) {
    const double t = run->time;
    const bool earlier = c->variable_step && t < run->next_event && run->next_event < end;
    int outcome = step_to(c, earlier ? run->next_event : end);
    if (outcome >= 0) return outcome;
    if (outcome == EVENT || (c->event_mode && run->time >= run->next_event)) {
      outcome = handle_event(c, &nothing, 0);
      if (outcome >= 0) return outcome;
      ++run->interval_events;
    }
    c->stalled = run->time <= t ? c->stalled + 1 : 0;
    if (c->stalled > MOST_STALLED || run->interval_events > MOST_EVENTS) return ZENO;
    if (run->time < end && !c->variable_step) return FIXED_STEP;
  }
  return GO_ON;
}

/* FMI 2.0 has no events: one step leads to `end`. */
static int step_of_fmi2(CoSimulation *c, double end) {
  Run *const run = &c->run;
  const double t = run->time;
  const int status = CALL(DoStep2, c->do_step, run->component, t, end - t, 1);
  if (note(run, c->do_step, status) != 0) return FAILED_CALL;
  run->time = end;
  return GO_ON;
}

static int communication_step(CoSimulation *c, int64_t i) {
  Run *const run = &c->run;
  const double end = run->times[i + 1];
  int outcome = GO_ON;
  run->row = i;
  run->warned = run->interval_events = 0;
  run->time = run->times[i];
  if (c->event_mode && c->before.count > 0) {
    outcome = handle_event(c, &c->before, i);
  } else if (move(run, &c->before, i) != 0) {
    outcome = FAILED_CALL;
  }
  if (outcome < 0) outcome = run->version == 3 ? advance(c, end) : step_of_fmi2(c, end);
  /* An FMU that requested termination where the run does has not failed. */
  const bool last = run->time >= run->times[run->last], ends = last && outcome == TERMINATED;
  if ((outcome < 0 || ends) && move(run, &c->after, i) != 0) outcome = FAILED_CALL;
  if (outcome < 0 && run->jumps[i + 1]) outcome = handle_event(c, &c->jump, i);
  if (last && outcome == TERMINATED) {
    outcome = GO_ON;
    run->ended = 1;
  }
  return outcome < 0 && move(run, &c->record, i) != 0 ? FAILED_CALL : outcome;
}

/* Takes communication steps `begin` to `end`. Returns whether none failed. */
EXPORTED int fmident_run_co_simulation(CoSimulation *c, int64_t *state, int64_t begin,
                                       int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    state[STEP] = i; /* at once: another process looks there after a crash */
    const int outcome = communication_step(c, i);
    if (outcome >= 0) {
      state[WHY] = outcome;
      state[STATUS] = c->run.call_status;
      return 0;
    }
    state[WARNINGS] += c->run.warned;
  }
  return 1;
}

EXPORTED int64_t fmident_size_of_co_simulation(void) { return sizeof(CoSimulation); }
