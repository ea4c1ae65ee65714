/* Events. Between two of them relations, samples and discrete variables are held, so that what is
 * integrated is smooth. At an event they are found by iteration: first with what was before the
 * event fixed, then again with the new values as those from before, until nothing changes any
 * more (Modelica language specification 3.6, section 8.6 and appendix B). */
#include "sensitivities.h"

#if FMIDENT_EVENTS

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Arrays of no elements are not valid C. */
#define NX (FMIDENT_NX + 1)
#define NR (FMIDENT_NR + 1)
#define ND (FMIDENT_ND + 1)

/* One after the other, all may change; more often than that nothing is found. */
#define MOST_PASSES (20 + 2 * (int)FMIDENT_NH)

enum {
  MOST_ROUNDS = 1000,
  SEARCHED_AFTER = 8,  /* passes */
  MOST_SEARCHED = 12,  /* relations */
  LOOKS = 4,           /* at the relations within a step */
  EARLY_LOOKS = 16,    /* before them in the first step after an event, each twice as late */
  MOST_IN_A_ROW = 1000, /* events that hardly get on */
  MOST_IDLE = 64,       /* events in turn that had no effect */
  MOST_ATTEMPTS = 12,   /* to find an event a moment later */
  INITIALLY = 1
};

/* Two that are not a number are the same. */
static int differ(double a, double b) { return a != b && !(isnan(a) && isnan(b)); }

static int first_difference(const double *a, const double *b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (differ(a[i], b[i])) return (int)i;
  }
  return -1;
}

/* What is held has changed. */
static void hold(Instance *m) {
  memcpy(m->c + FMIDENT_NC, m->held, FMIDENT_NH * sizeof(double));
  m->now.valid &= ~VALID_OF_X_U;
  m->loops_known = 0;
}

static int cannot(Instance *m, double t, const char *what) {
  snprintf(m->trouble, sizeof m->trouble, "the %s cannot be evaluated at %.17g", what, t);
  return 1;
}

int fmident_relations_now(Instance *m, double since, const double *x, double *relations) {
  const double t = m->now.t + since;
  if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
  m->res[0] = relations;
  return fmident_live(m->arg, m->res, m->iw, m->work, 0) ? cannot(m, t, "relations") : 0;
}

/* Values before the start follow from the states. */
static int starts(Instance *m, double since, const double *x) {
  const double t = m->now.t + since;
  if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
  m->res[0] = m->before;
  return fmident_starts(m->arg, m->res, m->iw, m->work, 0) ? cannot(m, t, "start values") : 0;
}

static int update(Instance *m, double since, const double *x, double *d, double *after) {
  const double t = m->now.t + since;
  if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
  m->arg[5] = m->before;
  m->res[0] = d;
  m->res[1] = after;
  if (fmident_update(m->arg, m->res, m->iw, m->work, 0)) return cannot(m, t, "discrete variables");
  for (size_t i = 0; i < FMIDENT_NX; ++i) {
    if (!isfinite(after[i])) return cannot(m, t, "states after the event");
  }
  for (size_t i = 0; i < FMIDENT_ND; ++i) {
    if (!isfinite(d[i])) return cannot(m, t, "discrete variables");
  }
  return 0;
}

/* Hold these relations, with the discrete variables that follow; `relations` is what they make. */
static int try_relations(Instance *m, double since, const double *x, double *after,
                         double *relations) {
  double d[ND];
  hold(m);
  if (update(m, since, x, d, after)) return 1;
  memcpy(m->held + HELD_D, d, FMIDENT_ND * sizeof(double));
  hold(m);
  return fmident_relations_now(m, since, x, relations);
}

/* Relations that switch each other to and fro may have values that agree all the same: a clutch
 * between slipping forwards and backwards sticks. Try all values of those that go on
 * switching, first all false; `found` says whether some agree. */
static int search(Instance *m, double since, const double *x, double *after,
                  const unsigned char *switched, int *found) {
  double relations[NR], first[NR];
  size_t places[MOST_SEARCHED], count = 0;
  *found = 0;
  for (size_t i = 0; i < FMIDENT_NR; ++i) {
    if (!switched[i]) continue;
    if (count == MOST_SEARCHED || (m->held[i] != 0.0 && m->held[i] != 1.0)) return 0;
    places[count++] = i;
  }
  memcpy(first, m->held, FMIDENT_NR * sizeof(double));
  for (size_t values = 0; values < (size_t)1 << count; ++values) {
    for (size_t k = 0; k < count; ++k) m->held[places[k]] = (double)((values >> k) & 1);
    if (try_relations(m, since, x, after, relations)) continue; /* no values of loops, either */
    if (first_difference(relations, m->held, FMIDENT_NR) < 0) {
      *found = 1;
      return 0;
    }
  }
  memcpy(m->held, first, FMIDENT_NR * sizeof(double));
  return try_relations(m, since, x, after, relations);
}

/* Find what is held where all that was before is fixed; `initially` the states follow, too. */
static int settle(Instance *m, double since, double *x, double *after, int initially) {
  double relations[NR], d[ND];
  unsigned char switched[NR];
  int relation = -1, changed;
  memset(switched, 0, NR);
  for (int pass = 0; pass < MOST_PASSES; ++pass) {
    double x_before[NX];
    if (initially) {
      memcpy(x_before, x, FMIDENT_NX * sizeof(double));
      if (fmident_initial_x(m) || starts(m, since, x)) return 1;
    }
    if (!initially && pass == 0) { /* those before the event have changed */
      if (update(m, since, x, d, after)) return 1;
      memcpy(m->held + HELD_D, d, FMIDENT_ND * sizeof(double));
      hold(m);
    }
    if (fmident_relations_now(m, since, x, relations)) return 1;
    relation = first_difference(relations, m->held, FMIDENT_NR);
    if (relation >= 0) m->row.relation = relation;
    for (size_t i = 0; pass > SEARCHED_AFTER / 2 && i < FMIDENT_NR; ++i) {
      switched[i] |= differ(relations[i], m->held[i]) != 0;
    }
    memcpy(m->held, relations, FMIDENT_NR * sizeof(double));
    hold(m);
    if (update(m, since, x, d, after)) return 1;
    changed = relation >= 0 || first_difference(d, m->held + HELD_D, FMIDENT_ND) >= 0 ||
              (initially && first_difference(x, x_before, FMIDENT_NX) >= 0);
    memcpy(m->held + HELD_D, d, FMIDENT_ND * sizeof(double));
    hold(m);
    if (!changed) return 0;
    if (pass == SEARCHED_AFTER && !initially) {
      int found;
      if (search(m, since, x, after, switched, &found)) return 1;
      if (found) return 0;
    }
  }
  snprintf(m->trouble, sizeof m->trouble, "no consistent values are found at the event at %.17g%s%s%s",
           m->now.t + since, relation < 0 ? "" : ": '", relation < 0 ? "" : fmident_relations[relation],
           relation < 0 ? "" : "' switches without end");
  return 1;
}

/* initial(), terminal() and samples are true in the first round of an event only. */
static int end_phases(Instance *m) {
  int any = 0;
  for (unsigned i = HELD_INITIAL; i < HELD_D; ++i) {
    any |= m->held[i] != 0.0;
    m->held[i] = 0.0;
  }
  if (any) hold(m);
  return any;
}

static int iterate(Instance *m, double since, double *x) {
  double after[NX];
  const int differentiate = m->sensitivities->count > 0;
  for (int round = 0; round < MOST_ROUNDS; ++round) {
    int changed;
    if (settle(m, since, x, after, 0)) return 1;
    if (differentiate) fmident_saltation_round(m, since, x);
    changed = first_difference(after, x, FMIDENT_NX) >= 0 ||
              first_difference(m->before, m->held + HELD_D, FMIDENT_ND) >= 0;
    memcpy(m->before, m->held + HELD_D, FMIDENT_ND * sizeof(double));
    memcpy(x, after, FMIDENT_NX * sizeof(double));
    if (!changed && !end_phases(m)) {
      if (differentiate) fmident_saltation_end(m, since, x);
      return 0;
    }
  }
  snprintf(m->trouble, sizeof m->trouble,
           "the event at %.17g does not end: each change of a discrete variable or state causes "
           "another",
           m->now.t + since);
  return 1;
}

int fmident_event(Instance *m, double since, double *x, EventKind kind) {
  double d[ND], before[NX];
  int moved;
  if (m->sensitivities->count > 0) fmident_saltation_begin(m, since, x, kind);
  m->has_happened = 1;
  memcpy(d, m->held + HELD_D, FMIDENT_ND * sizeof(double));
  memcpy(before, x, FMIDENT_NX * sizeof(double));
  if (fmident_take_due(m, since)) return 1;
  hold(m);
  if (iterate(m, since, x)) return 1;
  moved = first_difference(before, x, FMIDENT_NX) >= 0;
  m->now.moved |= moved;
  if (first_difference(d, m->held + HELD_D, FMIDENT_ND) < 0 && !moved) {
    if (m->now.idle < MOST_IDLE) ++m->now.idle;
  } else {
    m->now.idle = 0;
  }
#if FMIDENT_ITERATIONS
  if (fmident_keep_loops(m, since, x)) return 1;
#endif
  return 0;
}

static int report(Instance *m) {
  fmident_log(m, fmi2Error, "time %.17g: %s", m->now.t, m->trouble);
  return 1;
}

int fmident_events_start(Instance *m) {
  double after[NX];
  m->trouble[0] = '\0';
  memset(m->held, 0, FMIDENT_NH * sizeof(double));
  m->held[HELD_INITIAL] = 1.0;
  hold(m);
  if (fmident_initial_x(m)) return 1;
  if (starts(m, 0.0, m->x)) return report(m);
  memcpy(m->held + HELD_D, m->before, FMIDENT_ND * sizeof(double));
  hold(m);
  if (settle(m, 0.0, m->x, after, INITIALLY)) return report(m);
  if (m->sensitivities->count > 0) fmident_saltation_start(m, m->x);
  memcpy(m->x, after, FMIDENT_NX * sizeof(double));
  return 0;
}

int fmident_events_begin(Instance *m) {
  m->trouble[0] = '\0';
  memcpy(m->before, m->held + HELD_D, FMIDENT_ND * sizeof(double));
  m->held[HELD_INITIAL] = 0.0;
  if (fmident_begin_samples(m)) return report(m);
  return fmident_event(m, 0.0, m->x, EVENT_IS_GIVEN) ? report(m) : 0;
}

int fmident_input_event(Instance *m) {
  const int changed = m->change;
  const EventKind kind = changed & (CHANGE_JUMP | CHANGE_RESTART) ? EVENT_IS_GIVEN : EVENT_OF_MODEL;
  if (kind == EVENT_OF_MODEL && !fmident_has_switched(m, 0.0, m->x)) return 0;
  m->trouble[0] = '\0';
  m->change |= CHANGE_RESTART;
  if ((changed & CHANGE_RESTART) && fmident_count_samples(m)) return report(m);
  return fmident_event(m, 0.0, m->x, kind) ? report(m) : 0;
}

/* The same a moment after an instant at which it has failed, see `event` of integrator.c: the states go
 * on by themselves, the host does not. */
static int event_later(Instance *m) {
#if FMIDENT_STATES
  char first[sizeof m->trouble];
  double slope[NX];
  memcpy(first, m->trouble, sizeof first);
  fmident_event_undo(m);
  for (int attempt = 0; attempt < MOST_ATTEMPTS; ++attempt) {
    const double later = fmax(fabs(m->now.t), DBL_MIN) * ldexp(DBL_EPSILON, 2 * attempt);
    if (fmident_rhs_at(m, 0.0, m->x, slope)) break;
    for (size_t i = 0; i < FMIDENT_NX; ++i) m->x[i] += later * slope[i];
    if (!fmident_event(m, later, m->x, EVENT_IS_GIVEN)) {
      m->now.moved = 1;
      return 0;
    }
    fmident_event_undo(m);
  }
  memcpy(m->trouble, first, sizeof first);
#else
  (void)m;
#endif
  return 1;
}

int fmident_asked_event(Instance *m) {
  m->trouble[0] = '\0';
  if ((m->now.unsettled & COUNTED_ANEW) && fmident_count_samples(m)) return report(m);
  fmident_event_keep(m);
  if (!fmident_event(m, 0.0, m->x, EVENT_IS_GIVEN)) return 0;
  return event_later(m) ? report(m) : 0;
}

/* Move what an event changes to where it is kept, or back. */
static void keep(Instance *m, int back) {
  double *at = m->kept;
#define KEEP(values, count)                                    \
  (back ? memcpy(values, at, (size_t)(count) * sizeof(double)) \
        : memcpy(at, values, (size_t)(count) * sizeof(double)), at += (count))
  KEEP(m->x, FMIDENT_NX);
  KEEP(m->held, FMIDENT_NH);
  KEEP(m->before, FMIDENT_ND);
  KEEP(m->ticks, FMIDENT_NS);
  KEEP(m->guess, FMIDENT_NZ);
#undef KEEP
}

void fmident_event_keep(Instance *m) {
  keep(m, 0);
  if (m->sensitivities->count > 0) fmident_saltation_keep(m, 0);
}

void fmident_event_undo(Instance *m) {
  keep(m, 1);
  if (m->sensitivities->count > 0) fmident_saltation_keep(m, 1);
  hold(m);
}

void fmident_undo_reading(Instance *m) {
  if (m->reading == READ_IS_TRIAL) {
    keep(m, 1);
    fmident_saltation_keep(m, 1);
    hold(m);
  }
  if (m->reading != READ_IS_CURRENT) m->reading = READ_LOOKS_FIRST;
}

int fmident_prepare_reading(Instance *m) {
  const int change = m->change, has_happened = m->has_happened;
  const Row row = m->row;
  int failed;
  if (m->reading != READ_LOOKS_FIRST || m->now.state != STATE_STEP_COMPLETE) return 0;
  if (fmident_ensure(m, VALID_C)) return 1;
  keep(m, 0);
  fmident_saltation_keep(m, 0);
  m->reading = READ_IS_TRIAL;
  failed = fmident_input_event(m);
  m->change = change;
  m->has_happened = has_happened;
  m->row = row;
  if (failed) fmident_undo_reading(m);
  return failed;
}

int fmident_events_end(Instance *m) {
  m->trouble[0] = '\0';
  if (m->sensitivities->count > 0) fmident_saltation_begin(m, 0.0, m->x, EVENT_IS_GIVEN);
  m->held[HELD_TERMINAL] = 1.0;
  hold(m);
  return iterate(m, 0.0, m->x) ? report(m) : 0;
}

/* Whether discrete variables or states would be others with some relations. When many events in
 * turn had no effect, those without one are no longer looked for: an acceleration that is zero but
 * for rounding, where a clutch is open, has any number of them. */
static int has_effect(Instance *m, double since, const double *x, const double *relations) {
  double d[ND], after[NX];
  int failed;
  memcpy(m->c + FMIDENT_NC, relations, FMIDENT_NR * sizeof(double));
  failed = update(m, since, x, d, after);
  memcpy(m->c + FMIDENT_NC, m->held, FMIDENT_NR * sizeof(double));
  return failed || first_difference(d, m->held + HELD_D, FMIDENT_ND) >= 0 ||
         first_difference(after, x, FMIDENT_NX) >= 0;
}

/* Whether a relation makes an event in any case when it switches. */
static int counts(const Instance *m, size_t i) {
  return fmident_relation_matters[i] || m->now.idle < MOST_IDLE;
}

int fmident_sides(Instance *m, double *sides) {
  double relations[NR];
  int effect = -1; /* not known yet */
  if (fmident_relations_now(m, 0.0, m->x, relations)) return 1;
  for (size_t i = 0; i < FMIDENT_NR; ++i) {
    int switched = relations[i] != m->held[i];
    if (switched && !counts(m, i)) {
      if (effect < 0) effect = has_effect(m, 0.0, m->x, relations);
      switched = effect;
    }
    /* Whole numbers, as those of floor, go from one to the next. */
    sides[i] = (fmod(m->held[i], 2.0) == 0.0) == !switched ? 1.0 : -1.0;
  }
  return 0;
}

int fmident_has_switched(Instance *m, double since, const double *x) {
  double relations[NR];
  int differs = 0;
  if (FMIDENT_NR == 0) return 0;
  /* The integrator will say why. Where a loop has no solution there may be an event before, and
   * the search for it ends there. */
  if (fmident_relations_now(m, since, x, relations)) return FMIDENT_ITERATIONS;
  for (size_t i = 0; i < FMIDENT_NR; ++i) {
    if (relations[i] == m->held[i]) continue;
    if (counts(m, i)) return 1;
    differs = 1;
  }
  return differs && has_effect(m, since, x, relations);
}

double fmident_first_switch(Instance *m, double begin, double size, fmident_States *at,
                            const void *step) {
  double x[NX], before = 0.0, after = 2.0;
  if (FMIDENT_NR == 0) return after;
  /* What an event has made of a relation may last for a moment only: a ball that has lost most of
   * its speed is below the ground again after a small part of a step. */
  for (int look = m->has_happened ? -EARLY_LOOKS : 1; look <= LOOKS; ++look) {
    const double fraction = (look < 1 ? ldexp(1.0, look - 1) : look) / LOOKS;
    at(step, fraction, x);
    if (fmident_has_switched(m, begin + fraction * size, x)) {
      after = fraction;
      break;
    }
    before = fraction;
  }
  if (after > 1.0) {
    m->has_happened = 0;
    return after;
  }
  /* Halve until there is no time between. */
  for (;;) {
    const double middle = 0.5 * (before + after);
    const double t0 = m->now.t + (begin + before * size), t1 = m->now.t + (begin + after * size);
    if (!(middle > before && middle < after) || !(t1 > t0)) break;
    at(step, middle, x);
    if (fmident_has_switched(m, begin + middle * size, x)) {
      after = middle;
    } else {
      before = middle;
    }
  }
  return after;
}

static void no_states(const void *step, double fraction, double *x) {
  (void)step, (void)fraction, (void)x;
}

int fmident_event_in_a_row(Instance *m, double since, double span) {
  Row *row = &m->row;
  const double t = m->now.t + since;
  if (row->count == 0 || !(t - row->begin <= 1e-9 * span)) {
    row->count = 0;
    row->begin = t;
  }
  if (++row->count <= MOST_IN_A_ROW) return 0;
  snprintf(m->trouble, sizeof m->trouble,
           "%d events follow each other at %.17g without getting on%s%s%s: give the condition a "
           "hysteresis, or write noEvent(...)",
           MOST_IN_A_ROW, t, row->relation < 0 ? "" : "; the last that switched is '",
           row->relation < 0 ? "" : fmident_relations[row->relation], row->relation < 0 ? "" : "'");
  return 1;
}

int fmident_pass_events(Instance *m, double span) {
  double since = 0.0;
  m->trouble[0] = '\0';
  for (;;) {
    const double next = fmident_next_sample(m, span), end = fmin(next, span);
    const double fraction =
        end > since ? fmident_first_switch(m, since, end - since, no_states, NULL) : 2.0;
    if (fraction <= 1.0) {
      since += fraction * (end - since);
    } else {
      since = end;
      if (next > span) return 0;
    }
    if (fmident_event_in_a_row(m, since, span) || fmident_event(m, since, m->x, EVENT_OF_MODEL)) return report(m);
  }
}

#else
typedef int fmident_no_events; /* an empty translation unit is not valid C */
#endif
