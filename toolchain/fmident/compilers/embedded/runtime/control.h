/* How long the next step is and which method takes it. */
#ifndef FMIDENT_CONTROL_H
#define FMIDENT_CONTROL_H

#include "elementary.h"
#include "integrator.h"

#if FMIDENT_STATES

#include <math.h>

enum { N = FMIDENT_NX, MAXIMUM_STEPS = 1000000, MAXIMUM_REJECTIONS = 60, SWITCH_AFTER = 8 };

/* Which changes of the right-hand side begin a new integration: over a kink, the slope is the
 * one before, and so is CVODE's history; over a jump neither is. */
enum { RESTART_ON = CHANGE_RESTART | CHANGE_JUMP };

/* The error of a step is controlled; those of whole trajectories come to lie below the tolerance
 * where earlier errors decay. */
static const double local_share = 0.01;
static const double smallest_local_tolerance = 1e-15;

/* Step sizes follow the error of this step and, weakly, of the one before (Gustafsson). */
static const double safety = 0.9, exponent = 0.17, exponent_before = 0.04;
static const double least_factor = 0.2, largest_factor = 5.0, first_error = 1e-4;

/* Explicit steps are stable up to about this size times the radius of the spectrum. */
static const double stable = 3.25;

/* Operations of a step: evaluations, the sums of the stages, factors of the matrix. */
static const double cost_explicit = 6.0 * FMIDENT_COST_RHS + 60.0 * N;
static const double cost_rosenbrock = 8.0 * FMIDENT_COST_RHS + FMIDENT_COST_JACOBIAN +
                                      FMIDENT_COST_TIME + 120.0 * N + 20.0 * N * N +
                                      0.67 * N * N * N;

/* At least; it has its own count. */
static const double cost_cvode = 6000.0 + FMIDENT_COST_RHS + 40.0 * N + 2.0 * N * N;

/* When the other method is tried: where the present one costs so many times more than the other
 * may, after so many steps. A trial that was for nothing doubles how long to stay. */
static const double worth_trying = 1.2, worth_returning = 1.5;
enum { FIRST_STAY = 30, LONGEST_STAY = 4000, SETTLED = 4, TRIAL = 14, FIRST_TRIAL = 60, LOOK = 16 };

enum {
  use_rosenbrock = FMIDENT_INTEGRATOR == INTEGRATOR_ROSENBROCK ||
                   (FMIDENT_INTEGRATOR != INTEGRATOR_CVODE && N <= FMIDENT_LARGEST_ROSENBROCK)
};

static inline double cost_implicit(void) { return use_rosenbrock ? cost_rosenbrock : cost_cvode; }

static const double least_error = 1e-10;

/* By which the next step is longer than one with this error and the one before with that. */
static inline double factor_of_accepted(double error, double before) {
  return safety * fmident_exp(exponent_before * fmident_ln(before) -
                              exponent * fmident_ln(fmax(error, least_error)));
}

static inline void change_method(Control *c, int implicit) {
  c->other = c->span > 0.0 ? c->cost / c->span : INFINITY; /* not known at the start */
  c->implicit = implicit;
  c->steps = 0;
  c->cost = c->span = 0.0;
  if (!implicit) c->stay = 2 * c->stay < LONGEST_STAY ? 2 * c->stay : LONGEST_STAY;
}

/* Whether explicit steps are worse than implicit ones might be. Explicit steps excite what decays
 * slowly as soon as they are too long for it, and then all have to follow: it is best to see it
 * before, from the Jacobian. `longest`: the longest step that is possible. */
static inline int implicit_is_worth_trying(const Control *c, double size, double radius, double longest) {
  const double rate = c->span > 0.0 ? c->cost / c->span : 0.0;
  return fmin(size, longest) * radius > 1.0 &&
         fmax(rate, cost_explicit * radius / stable) > worth_trying * cost_implicit() / longest;
}

/* Before an explicit step, at the start and now and then, the Jacobian is looked at. */
static inline int looks_ahead(Control *c) {
  if (FMIDENT_INTEGRATOR != INTEGRATOR_AUTO || !use_rosenbrock || c->implicit) return 0;
  if (c->stay > 0 && (c->steps < c->stay || c->steps % LOOK != 0)) return 0;
  if (c->stay == 0) c->stay = FIRST_STAY;
  c->cost += FMIDENT_COST_JACOBIAN + FMIDENT_COST_TIME;
  return 1;
}

/* What follows from the radius of its spectrum. */
static inline void decide(Control *c, double radius, double longest) {
  if (implicit_is_worth_trying(c, c->size, radius, longest)) change_method(c, 1);
}

/* After a step of a size: go on with the method that costs less per time, as far as can be seen. */
static inline void choose(Control *c, double size, double radius, double longest) {
  if (FMIDENT_INTEGRATOR != INTEGRATOR_AUTO) return;
  if (c->stay == 0) c->stay = FIRST_STAY;
  if (++c->steps == SETTLED) c->cost = c->span = 0.0;
  if (c->steps <= SETTLED) return;
  if (!c->implicit) {
    if (c->steps > 20 * c->stay) c->stay = FIRST_STAY;
    if (!use_rosenbrock && c->steps >= c->stay &&
        implicit_is_worth_trying(c, size, radius, longest)) {
      change_method(c, 1);
    }
  } else {
    const double rate = c->cost / c->span;
    const double other = cost_explicit * fmax(radius / stable, 1.0 / size);
    const int least = isinf(c->other) ? FIRST_TRIAL : TRIAL;
    const int trial = c->stay / 8 > least ? c->stay / 8 : least;
    if (c->steps >= trial &&
        ((c->steps < 2 * trial && rate > c->other) || rate > worth_returning * other)) {
      change_method(c, 0);
    }
  }
  /* What is long ago counts less. */
  c->cost *= 0.95;
  c->span *= 0.95;
}

/* Whether the next step is the last one to a communication point, so far away, and its size. */
static inline int is_last(const Control *c, double left) { return c->size * (1.0 + 1e-7) >= left; }

static inline double size_of_step(const Control *c, double left, int last) {
  if (last) return left;
  return 2.0 * c->size > left ? 0.5 * left : c->size; /* two equal steps rather than a sliver */
}

/* For a step with too large an error, which may be NaN. */
static inline double factor_of_rejected(double error) {
  const double factor = safety * fmident_exp(-0.2 * fmident_ln(error));
  return factor > least_factor ? factor : least_factor;
}

/* Go on with a shorter step, `since` after `now`; 0 if there is none. Explicit stages may lie where
 * there is no right-hand side however short the step is, such as below the bottom of an empty tank.
 * Where the right-hand side ends, as at a violated assertion, shorter and shorter steps would come
 * ever nearer: they end when they do not move the time any more. */
static inline int shorten(Control *c, int rejections, int failures, double size, double since,
                          double now) {
  const double t = failures ? now + since : since;
  c->size = size;
  if (failures == SWITCH_AFTER && FMIDENT_INTEGRATOR == INTEGRATOR_AUTO && use_rosenbrock) {
    change_method(c, !c->implicit);
  }
  return rejections <= MAXIMUM_REJECTIONS && t + size > t;
}

/* After a step of a size. `factor` is from `factor_of_accepted`. */
static inline void accept(Control *c, double size, double error, double factor, int rejections,
                          double radius, double longest) {
  if (!(factor > least_factor)) factor = least_factor;
  if (factor > largest_factor) factor = largest_factor;
  if (rejections && factor > 1.0) factor = 1.0;
  c->error_before = error > first_error ? error : first_error;
  /* A step that the communication point has cut says little of a longer one. */
  if (size * factor > c->size || size > 0.9 * c->size) c->size = size * factor;
  c->span += size;
  choose(c, size, radius, longest);
}

#endif
#endif
