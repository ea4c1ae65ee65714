#ifndef FMIDENT_MODEL_EXCHANGE_H
#define FMIDENT_MODEL_EXCHANGE_H

#include "loops.h"

struct Sensitivities;

typedef struct {
  Run run;
  /* Inputs held at means in a step, those that jump at an instant, and what is recorded. */
  Program between, jump, record;
  int64_t states, indicators;
  void *set_time, *set_states, *get_derivatives, *get_indicators, *get_states, *get_nominals;
  void *enter_continuous, *completed;
  void *directional;
  const uint32_t *state_references, *derivative_references;
  int64_t reference_count;
  double *x, *allowed; /* states, absolute tolerances */
  double *work;        /* a direction; states, derivatives, indicators around an event */
  double returned, began; /* what CVODE says that it has reached; where it began */
  double relative;
  void *memory, *state_vector, *tolerance_vector; /* CVODE's */
  void *cvode, *reinit, *set_stop_time, *set_tolerances, *array_of, *column_of, *get_dense;
  struct Sensitivities *sensitivities;
  int (*on_event)(int after, int inputs);
  int64_t flag, steps, interval_steps, close, shrinking, since_event, inside, restarts, budget;
  int64_t root, effect, late, repeated;
  double last_event, last_gap;
  /* The event in doubt, how far behind it it is repeated and when, and by how many tolerances the
   * last event moves a state in a communication step. */
  double doubted, distance, repeat, worth;
  /* The first event that was late, by how much, and what that is worth in tolerances; the first
   * that had its effect only when it was repeated. */
  double late_event, lateness, error, repeated_event;
} ModelExchange;

int place(ModelExchange *m, double t, const double *states);
int direction(ModelExchange *m, int64_t j, double *column);

int sensitivities_step(struct Sensitivities *s, double begin, double end);
int sensitivities_record(struct Sensitivities *s, double t, int64_t row);

typedef int (*Completed)(void *, int, void *, void *);

#endif
