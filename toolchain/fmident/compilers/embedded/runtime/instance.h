/* One instance of the FMU. There is no other memory: no globals, so that instances can
 * live in different threads. */
#ifndef FMIDENT_INSTANCE_H
#define FMIDENT_INSTANCE_H

#include <stddef.h>

#include "model.h"

#if FMIDENT_FMI3
#include "fmi3_over_fmi2.h"
#else
#include "fmi2Functions.h"
#endif

/* Functions of extensions. */
#if defined _WIN32
#define FMIDENT_EXPORT __declspec(dllexport)
#elif defined __GNUC__
#define FMIDENT_EXPORT __attribute__((visibility("default")))
#else
#define FMIDENT_EXPORT
#endif

/* States of the FMU (FMI 2.0.4, sections 3.2.3 and 4.2.4), as bits so that sets of them are masks. */
enum {
  STATE_INSTANTIATED = 1,
  STATE_INITIALIZATION = 2,
  STATE_STEP_COMPLETE = 4,
  STATE_TERMINATED = 8,
  STATE_ERROR = 16,
  STATE_EVENT = 32, /* these two of Model Exchange */
  STATE_CONTINUOUS = 64,
  STATE_RUNNING = STATE_STEP_COMPLETE | STATE_EVENT | STATE_CONTINUOUS
};

/* Which values are up to date with t, x, u, p. */
enum {
  VALID_C = 1,
  VALID_X = 2, /* false only in initialization mode: initial states follow p and u */
  VALID_DX = 4,
  VALID_Y = 8,
  VALID_W = 16,
  VALID_A = 32,
  VALID_DC = 64, /* how c follows p */
  VALID_OF_X_U = VALID_DX | VALID_Y | VALID_W | VALID_A
};

/* Log categories of modelDescription.xml, as bits. */
enum { LOG_WARNING = 1, LOG_ERROR = 2, LOG_ALL = 3 };

/* What happened to the right-hand side since the integrator ran last. */
enum {
  CHANGE_NONE = 0,
  CHANGE_SLOPE = 1,  /* an input's time derivative: the right-hand side has a kink */
  CHANGE_JUMP = 2,   /* an input's value: the right-hand side jumps */
  CHANGE_RESTART = 4 /* state, parameters or tolerance */
};

/* What the host has to ask for before it leaves event mode: that discrete variables follow, and that
 * samples are counted by parameters that it has set. */
enum { UNSETTLED = 1, COUNTED_ANEW = 2 };

/* What the next step of the integrator begins with. All zero: nothing is known. */
typedef struct {
  double size;         /* of the step; 0: not known */
  double error_before; /* of the step before */
  double cost, span;   /* operations, and the time they led over */
  double other;        /* operations per time of the other method, when it was left */
  int implicit;
  int steps; /* by this method */
  int stay;  /* so many, before the other is tried */
} Control;

/* What a snapshot of the FMU holds besides the vectors. */
typedef struct {
  Control control;
  int state;
  int exchange; /* instantiated for Model Exchange */
  int unsettled; /* in event mode: what there is to do */
  int moved;     /* an event has changed states, and the host has not heard of it */
  int valid;
  int idle; /* events in turn that had no effect */
  int has_stop_time;
  double t;
  double stop_time;
  double tolerance;
} Status;

/* Events that follow each other. */
typedef struct {
  double begin;
  int count;
  int relation; /* the last that switched; -1 for none */
} Row;

/* Events of what the host has set since the last step. It may set it again before the next one. */
enum { READ_IS_CURRENT, READ_LOOKS_FIRST, READ_IS_TRIAL };

typedef struct Integrator Integrator;
typedef struct Sensitivities Sensitivities;

typedef struct {
  char *name;
  fmi2CallbackFunctions callbacks;
  int log_mask;

  Status now;
  int change;
  double last_step;  /* size of the last communication step */
  int interpolating; /* some input has a time derivative that is not zero */
  Row row;
  int has_happened; /* an event, and no step has passed since */
  int reading;      /* whether what is read has to follow what the host has set */
  char trouble[512]; /* why the right-hand side could not be evaluated last */

  /* Kept in a snapshot (one block, SNAPSHOT_DOUBLES long) ... */
  double *x, *u, *du, *p, *x_start, *held, *before, *ticks, *guess;
  /* ... and its bytes: states that the user set, assertions that warned already. */
  unsigned char *flags, *x_set, *warned;
  /* Follow from the former. */
  double *dx, *y, *w, *c, *a;
  /* Scratch. */
  double *loops_at; /* t, x and u that the loops in c belong to, if `loops_known` */
  int loops_known;
  double *kept; /* x, held, before and ticks, while others are there for reading only */
  double *u_at, *seed_x, *seed_u, *seed_p, *seed_y, *seed_dx, *seed_w, *seed_c, *jacobian;
  const double **arg;
  double **res;
  long long int *iw;
  double *work;
  double *doubles; /* the block that all vectors live in */

  Integrator *integrator;
  Sensitivities *sensitivities;
} Instance;

#define SNAPSHOT_DOUBLES \
  (2 * FMIDENT_NX + 2 * FMIDENT_NU + FMIDENT_NP + FMIDENT_NH + FMIDENT_ND + FMIDENT_NS + FMIDENT_NZ)
#define SNAPSHOT_FLAGS (FMIDENT_NX + FMIDENT_NA)

/* constraints.c; with FMIDENT_CONSTRAINED. These return 0 on success and fill in `trouble`
 * otherwise. */
/* The states, at a time since `now.t`, become consistent. */
int fmident_return(Instance *instance, double since, double *x);
/* The start values, which have to be consistent but for rounding. */
int fmident_check_start(Instance *instance);

/* loops.c; with FMIDENT_ITERATIONS. These return 0 on success; the first three fill in `trouble`
 * otherwise. */
int fmident_solve_loops(Instance *instance, double t, const double *x, const double *u);
int fmident_solve_initial_loops(Instance *instance, double t);
/* What the next iterations begin with: the solution at a time since `now.t`. */
int fmident_keep_loops(Instance *instance, double since, const double *x);
/* And the first ones: the start values. */
int fmident_start_loops(Instance *instance);

/* The arguments that most functions of a model begin with: (t, x, u, p, c). 0, or 1 with `trouble`
 * filled in where an algebraic loop has no solution. */
static inline int fmident_arguments(Instance *instance, const double *t, const double *x,
                                    const double *u) {
#if FMIDENT_ITERATIONS
  if (fmident_solve_loops(instance, *t, x, u)) return 1;
#endif
  instance->arg[0] = t;
  instance->arg[1] = x;
  instance->arg[2] = u;
  instance->arg[3] = instance->p;
  instance->arg[4] = instance->c;
  return 0;
}

/* instance.c */
Instance *fmident_new(const char *name);
void fmident_delete(Instance *instance);
void fmident_set_defaults(Instance *instance);

/* message.c */
void fmident_log(const Instance *instance, fmi2Status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* cosimulation.c: 0 if a function can be called in the present state, and if it is of the interface
 * that the FMU was instantiated for; these say why not otherwise */
int fmident_refused(const Instance *instance, const char *function, int allowed);
int fmident_is_of_other(const Instance *instance, const char *function, fmi2Type type);
fmi2Status fmident_enter_error(Instance *instance);

/* evaluate.c; these return 0 on success and have logged the reason otherwise */
int fmident_ensure(Instance *instance, int valid);
int fmident_check_asserts(Instance *instance);
int fmident_initial_x(Instance *instance); /* where c is known */
int fmident_check_finite(const Instance *instance, const double *values, size_t count,
                         unsigned first_reference);
/* The right-hand side as the integrator calls it, at a time since `now.t`, which rounds less than
 * the time itself: 0, or 1 with `trouble` filled in. */
int fmident_rhs_at(Instance *instance, double since, const double *x, double *dx);
const double *fmident_inputs_at(Instance *instance, double since);
int fmident_jacobian_at(Instance *instance, double since, const double *x, double *jacobian);
/* The derivative of the right-hand side in time, where the inputs follow their slopes. */
int fmident_time_derivative_at(Instance *instance, double since, const double *x,
                               double *derivative);

/* variables.c */
fmi2Status fmident_set_real(Instance *instance, unsigned reference, double value);
int fmident_type(unsigned reference);
fmi2Status fmident_get_discrete(Instance *instance, const char *function, unsigned reference,
                                double *value);
fmi2Status fmident_get_real(Instance *instance, unsigned reference, double *value);
fmi2Status fmident_directional_derivative(Instance *instance, const unsigned *unknown,
                                          size_t n_unknown, const unsigned *known, size_t n_known,
                                          const double *seed, double *result);

/* Of the initial states along `seed_u` and `seed_p`: 0 on success. */
int fmident_initial_derivative(Instance *instance, double *derivative);

/* events.c; with FMIDENT_NH > 0. Times are counted from `now.t`; these return 0 on success and
 * fill in `trouble` otherwise. */
/* The initial states, and what is held in initialization mode. */
int fmident_events_start(Instance *instance);
/* After initialization mode. */
int fmident_events_begin(Instance *instance);
/* Let happen what happens at an event; `x` are the states before and after it. Its instant is
 * given, or it follows from the model itself. */
typedef enum { EVENT_IS_GIVEN, EVENT_OF_MODEL } EventKind;
int fmident_event(Instance *instance, double since, double *x, EventKind kind);
/* Before an event that may fail, and after it has. */
void fmident_event_keep(Instance *instance);
void fmident_event_undo(Instance *instance);
int fmident_events_end(Instance *instance);
/* The event of what the host has set since the last step. */
int fmident_input_event(Instance *instance);
/* The event that the host has asked for, in Model Exchange. */
int fmident_asked_event(Instance *instance);
/* -1 or 1 for each relation, another one as soon as it makes an event. */
int fmident_sides(Instance *instance, double *sides);
/* modelexchange.c: the event indicators */
int fmident_indicator_values(Instance *instance, double *values);
/* Before the host sets something, steps or takes a snapshot: nothing has happened by reading. */
void fmident_undo_reading(Instance *instance);
/* Before something is read: the values belong to what the host has set. Logs why if it fails. */
int fmident_prepare_reading(Instance *instance);
/* What relations are now. */
int fmident_relations_now(Instance *instance, double since, const double *x, double *relations);
/* Whether a relation has switched since the last event. */
int fmident_has_switched(Instance *instance, double since, const double *x);
/* The first time in (begin, begin + size] at which one has, as a fraction; above 1 if none. `at`
 * gives the states at a fraction. */
typedef void fmident_States(const void *step, double fraction, double *x);
double fmident_first_switch(Instance *instance, double begin, double size, fmident_States *at,
                            const void *step);
/* Counts events that follow each other without getting on: 0 as long as there are few. */
int fmident_event_in_a_row(Instance *instance, double since, double span);
/* Without states there is nothing to integrate between events. */
int fmident_pass_events(Instance *instance, double span);

/* samples.c; with FMIDENT_NH > 0. These return 0 on success and fill in `trouble` otherwise. */
/* Start and interval of each sample, and whether one is due. */
int fmident_sample_pairs(Instance *instance, double *pairs);
int fmident_is_due(const double *pair, double tick, double t);
/* Count them from the start. */
int fmident_begin_samples(Instance *instance);
/* A host may change the interval of a sample: those that follow are multiples of the new one. */
int fmident_count_samples(Instance *instance);
/* Make true the samples that are due. */
int fmident_take_due(Instance *instance, double since);
/* The same before a parameter changes; logs why if it fails. */
int fmident_take_samples(Instance *instance);
/* When the next sample is due, since `now.t`; INFINITY if none is until `span`. */
double fmident_next_sample(Instance *instance, double span);
/* The time of the next sample; INFINITY without any. */
double fmident_next_sample_time(Instance *instance);

/* integrator.c */
#if FMIDENT_STATES
Integrator *fmident_integrator_new(Instance *instance);
void fmident_integrator_delete(Integrator *integrator);
/* Advance `instance->x` from `instance->now.t` to `t_end`. */
int fmident_integrate(Instance *instance, double t_end);
#endif

#endif
