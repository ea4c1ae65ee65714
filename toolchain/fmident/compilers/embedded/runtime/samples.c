/* Samples: when they are due. Each has a start and an interval, which may be parameters, and the number
 * of those that have been. */
#include "instance.h"

#if FMIDENT_EVENTS

#include <float.h>
#include <math.h>
#include <stdio.h>

/* Arrays of no elements are not valid C. */
#define NS (FMIDENT_NS + 1)

static int cannot(Instance *m, double t) {
  snprintf(m->trouble, sizeof m->trouble, "the samples cannot be evaluated at %.17g", t);
  return 1;
}

int fmident_sample_pairs(Instance *m, double *pairs) {
  if (FMIDENT_NS == 0) return 0;
  m->arg[0] = m->p;
  m->arg[1] = m->c;
  m->res[0] = pairs;
  return fmident_samples(m->arg, m->res, m->iw, m->work, 0);
}

/* Hosts add up their steps; what such rounding makes of a communication point still meets it. */
static double slack(double t, double interval) {
  return 1e-10 * interval + 4.0 * DBL_EPSILON * fabs(t);
}

static double due(const double *pair, double tick) { return pair[0] + tick * pair[1]; }

int fmident_is_due(const double *pair, double tick, double t) {
  return due(pair, tick) <= t + slack(t, pair[1]);
}

int fmident_take_due(Instance *m, double since) {
  double pairs[2 * NS];
  const double t = m->now.t + since;
  if (fmident_sample_pairs(m, pairs)) return cannot(m, t);
  for (size_t k = 0; k < FMIDENT_NS; ++k) {
    const double *pair = pairs + 2 * k;
    while (fmident_is_due(pair, m->ticks[k], t)) {
      m->held[HELD_SAMPLES + k] = 1.0;
      m->ticks[k] += 1.0;
    }
  }
  return 0;
}

double fmident_next_sample(Instance *m, double span) {
  double pairs[2 * NS], next = INFINITY;
  if (FMIDENT_NS == 0 || fmident_sample_pairs(m, pairs)) return next;
  for (size_t k = 0; k < FMIDENT_NS; ++k) {
    const double at = due(pairs + 2 * k, m->ticks[k]) - m->now.t;
    if (at <= span + slack(m->now.t + span, pairs[2 * k + 1])) {
      next = fmin(next, fmin(fmax(at, 0.0), span));
    }
  }
  return next;
}

static int no_interval(Instance *m, double interval) {
  snprintf(m->trouble, sizeof m->trouble, "a sample has the interval %g: it must be positive",
           interval);
  return 1;
}

int fmident_begin_samples(Instance *m) {
  double pairs[2 * NS];
  const double t = m->now.t;
  if (fmident_sample_pairs(m, pairs)) return cannot(m, t);
  for (size_t k = 0; k < FMIDENT_NS; ++k) {
    const double *pair = pairs + 2 * k;
    if (!(pair[1] > 0.0) || !isfinite(pair[0])) return no_interval(m, pair[1]);
    m->ticks[k] = fmax(0.0, ceil((t - slack(t, pair[1]) - pair[0]) / pair[1]));
  }
  return 0;
}

int fmident_count_samples(Instance *m) {
  double pairs[2 * NS];
  const double t = m->now.t;
  if (fmident_sample_pairs(m, pairs)) return cannot(m, t);
  for (size_t k = 0; k < FMIDENT_NS; ++k) {
    const double *pair = pairs + 2 * k;
    const double until = t + slack(t, pair[1]);
    double tick;
    if (!(pair[1] > 0.0) || !isfinite(pair[0])) return no_interval(m, pair[1]);
    tick = fmax(0.0, floor((until - pair[0]) / pair[1]));
    while (due(pair, tick) <= until) tick += 1.0;
    while (tick > 0.0 && due(pair, tick - 1.0) > until) tick -= 1.0;
    m->ticks[k] = tick;
  }
  return 0;
}

int fmident_take_samples(Instance *m) {
  if (fmident_ensure(m, VALID_C)) return 1;
  m->trouble[0] = '\0';
  if (!fmident_take_due(m, 0.0)) return 0;
  fmident_log(m, fmi2Error, "time %.17g: %s", m->now.t, m->trouble);
  return 1;
}

double fmident_next_sample_time(Instance *m) {
  double pairs[2 * NS], next = INFINITY;
  if (FMIDENT_NS == 0 || fmident_sample_pairs(m, pairs)) return next;
  for (size_t k = 0; k < FMIDENT_NS; ++k) next = fmin(next, due(pairs + 2 * k, m->ticks[k]));
  return next;
}

#else
typedef int fmident_no_samples; /* an empty translation unit is not valid C */
#endif
