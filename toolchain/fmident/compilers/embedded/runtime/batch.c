/* Simulations of one experiment with several sets of values, side by side in vector registers; see
 * docs/reference/batches.md. Each gives the same bits as alone: its steps are its own, and all operations are
 * those of the scalar code, in its order. What cannot be done so is handed back, to be done alone. */
#include "batch.h"

#include <stdlib.h>

#if FMIDENT_BATCHES && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx512cd,fma,bmi2,lzcnt,popcnt")
#include "lane_steps.h"

#include <stdio.h>

/* What a lane does next; each kind has its own lanes. */
enum { EXPLICIT_STEP, IMPLICIT_STEP, LOOK_AHEAD, KINDS };

/* One set of values. */
typedef struct {
  double t, x[AT_LEAST_ONE(FMIDENT_NX)], slope[AT_LEAST_ONE(FMIDENT_NX)];
  double p[AT_LEAST_ONE(FMIDENT_NP)], c[AT_LEAST_ONE(FMIDENT_NC)];
  double u[AT_LEAST_ONE(FMIDENT_NU)]; /* of inputs without samples */
  Control control;
  size_t row; /* communication points passed */
  int slope_known, looked, rejections, failures, count;
} Simulation;

typedef struct {
  Lanes lanes;
  long simulation[LANES]; /* -1: none */
  int active;
  size_t row[LANES];
  int slope_known[LANES];
  const double *sources[]; /* of the outputs */
} Group;

/* First in, first out; what has begun goes back to the front. */
typedef struct {
  size_t *items, begin, count;
} Queue;

struct Batch {
  size_t rows, count, outputs;
  double tolerance;
  double *now, *span;       /* of each row: time, and the step that follows */
  double *u, *du;           /* rows * NU */
  unsigned char *driven;    /* NU */
  unsigned char *jumps, *moving; /* of each row */
  unsigned *output_references;
  double *const *results;
  unsigned char *states;
  size_t open;
  Simulation *simulations;
  Queue queues[KINDS];
  Group *groups[KINDS];
  int kind; /* of which the last step was */
  int wants_dx, wants_w;
#if FMIDENT_STATES
  Linear *linear;
#endif
};

static void silent(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status,
                   fmi2String category, fmi2String message, ...) {
  (void)name, (void)status, (void)category, (void)message;
  *(int *)environment = 1;
}

/* ------------------------------------------------------------------ queues and lanes */

static void push(const Batch *b, Queue *q, size_t item, int front) {
  if (front) {
    q->begin = (q->begin + b->count - 1) % b->count;
    q->items[q->begin] = item;
  } else {
    q->items[(q->begin + q->count) % b->count] = item;
  }
  ++q->count;
}

static size_t pop(const Batch *b, Queue *q) {
  const size_t item = q->items[q->begin];
  q->begin = (q->begin + 1) % b->count;
  --q->count;
  return item;
}

#define LANE(array, element) (((double *)(array))[LANES * (element) + lane])

static void set_row(const Batch *b, Group *g, int lane, size_t row) {
  Lanes *l = &g->lanes;
  const double *u = b->u + row * FMIDENT_NU, *du = b->du + row * FMIDENT_NU;
  g->row[lane] = row;
  LANE(&l->now, 0) = b->now[row];
  for (int i = 0; i < FMIDENT_NU; ++i) {
    if (!b->driven[i]) continue;
    LANE(l->u, i) = u[i];
    LANE(l->du, i) = du[i];
  }
  ((int64_t *)&l->moving)[lane] = -(int64_t)b->moving[row];
}

static void load(const Batch *b, Group *g, int lane, size_t item) {
  const Simulation *s = &b->simulations[item];
  Lanes *l = &g->lanes;
  g->simulation[lane] = (long)item;
  ++g->active;
  for (int i = 0; i < FMIDENT_NU; ++i) LANE(l->u, i) = s->u[i], LANE(l->du, i) = 0.0;
  set_row(b, g, lane, s->row);
  LANE(&l->t, 0) = s->t;
  for (int i = 0; i < FMIDENT_NX; ++i) LANE(l->x, i) = s->x[i], LANE(l->slope, i) = s->slope[i];
  for (int i = 0; i < FMIDENT_NP; ++i) LANE(l->p, i) = s->p[i];
  for (int i = 0; i < FMIDENT_NC; ++i) LANE(l->c, i) = s->c[i];
  g->slope_known[lane] = s->slope_known;
}

static void unload(Group *g, int lane) {
  g->simulation[lane] = -1;
  --g->active;
}

static void hand_back(Batch *b, Group *g, int lane, int state) {
  b->states[g->simulation[lane]] = (unsigned char)state;
  --b->open;
  unload(g, lane);
}

/* Put a simulation that has begun aside, to be gone on with in lanes of another kind. */
static UNUSED void put_aside(Batch *b, Group *g, int lane, int kind) {
  const size_t item = (size_t)g->simulation[lane];
  Simulation *s = &b->simulations[item];
  const Lanes *l = &g->lanes;
  s->row = g->row[lane];
  s->t = LANE(&l->t, 0);
  for (int i = 0; i < FMIDENT_NX; ++i) s->x[i] = LANE(l->x, i), s->slope[i] = LANE(l->slope, i);
  s->slope_known = g->slope_known[lane];
  unload(g, lane);
  push(b, &b->queues[kind], item, 1);
}

static void fill(Batch *b, int kind) {
  Group *g = b->groups[kind];
  int loaded = 0;
  for (int lane = 0; lane < LANES && b->queues[kind].count > 0; ++lane) {
    if (g->simulation[lane] >= 0) continue;
    load(b, g, lane, pop(b, &b->queues[kind]));
    loaded = 1;
  }
  if (loaded) {
    Lanes *l = &g->lanes;
    const double *arg[] = {NULL, NULL, NULL, (double *)l->p, (double *)l->c};
    double *res[] = {(double *)l->prepared};
    fmident_prepared_lanes(arg, res);
  }
}

/* Where the values of a variable are in lanes. */
static const double *source(Lanes *l, unsigned r) {
#define BLOCK(first, count, array) \
  if (r - (first) < (unsigned)(count)) return (double *)((array) + (r - (first)))
  BLOCK(FMIDENT_VR_X, FMIDENT_NX, l->x);
  BLOCK(FMIDENT_VR_DX, FMIDENT_NX, l->dx);
  BLOCK(FMIDENT_VR_U, FMIDENT_NU, l->u);
  BLOCK(FMIDENT_VR_Y, FMIDENT_NY, l->y);
  BLOCK(FMIDENT_VR_P, FMIDENT_NP, l->p);
  BLOCK(FMIDENT_VR_C, FMIDENT_NC, l->c);
  BLOCK(FMIDENT_VR_W, FMIDENT_NW, l->w);
#undef BLOCK
  return NULL;
}

/* ------------------------------------------------------------------------- steps */

/* The lanes of a mask have reached their next communication point. */
static void arrive(Batch *b, Group *g, mask arrived) {
  Lanes *l = &g->lanes;
  const vec zero = {0.0};
  mask bad = {0};
#if FMIDENT_NA > 0
  {
    /* With the inputs that the integrator has come to. */
    vec span = zero, time = l->now;
    for (int lane = 0; lane < LANES; ++lane) {
      if (!arrived[lane]) continue;
      span[lane] = b->span[g->row[lane]];
      time[lane] = b->now[g->row[lane] + 1];
    }
    inputs_of_lanes(l, span);
    call_lanes(l, fmident_asserts_lanes, time, l->x, l->a, NULL);
    bad = violated(l, 0);
  }
#endif
  for (int lane = 0; lane < LANES; ++lane) {
    if (!arrived[lane]) continue;
    set_row(b, g, lane, g->row[lane] + 1);
    LANE(&l->t, 0) = 0.0;
    if (b->jumps[g->row[lane]]) g->slope_known[lane] = 0;
    b->simulations[g->simulation[lane]].count = 0;
  }
  inputs_of_lanes(l, zero);
#if FMIDENT_NY > 0
  call_lanes(l, fmident_outputs_lanes, l->now, l->x, l->y, l->a);
#elif FMIDENT_NA > 0
  call_lanes(l, fmident_asserts_lanes, l->now, l->x, l->a, NULL);
#endif
  bad |= violated(l, 0);
#if FMIDENT_STATES
  if (b->wants_dx) call_lanes(l, fmident_rhs_lanes, l->now, l->x, l->dx, l->a);
#endif
#if FMIDENT_NW > 0
  if (b->wants_w) call_lanes(l, fmident_locals_lanes, l->now, l->x, l->w, NULL);
#endif
  for (int lane = 0; lane < LANES; ++lane) {
    double *to, sum = 0.0;
    if (!arrived[lane]) continue;
    to = b->results[g->simulation[lane]] + g->row[lane] * b->outputs;
    for (size_t k = 0; k < b->outputs; ++k) {
      to[k] = g->sources[k][lane];
      sum += to[k] - to[k]; /* not 0 where it is not finite */
    }
    if (bad[lane] || !(sum == 0.0)) {
      hand_back(b, g, lane, BATCH_ALONE);
    } else if (g->row[lane] + 1 == b->rows) {
      hand_back(b, g, lane, BATCH_DONE);
    }
  }
}

#if FMIDENT_STATES
/* What comes before a step; whether the lane takes one now. */
static int begins(Batch *b, Group *g, int lane) {
  Simulation *s = &b->simulations[g->simulation[lane]];
  if (s->rejections > 0) return 1;
  if (!s->looked) {
    if (s->count++ >= MAXIMUM_STEPS) {
      hand_back(b, g, lane, BATCH_ALONE);
      return 0;
    }
    s->failures = 0;
    s->looked = 1;
    if (looks_ahead(&s->control)) {
      put_aside(b, g, lane, LOOK_AHEAD);
      return 0;
    }
  }
  return 1;
}

/* The slopes that a step begins with; the scalar code gives up where there are none. */
static void slopes(Batch *b, Group *g, mask active) {
  Lanes *l = &g->lanes;
  mask missing = active, bad;
  for (int lane = 0; lane < LANES; ++lane) {
    if (g->slope_known[lane]) missing[lane] = 0;
  }
  if (!any(missing)) return;
  bad = rhs_of_lanes(l, l->t, l->x, l->dx);
  for (int i = 0; i < N; ++i) l->slope[i] = SELECT(missing, l->dx[i], l->slope[i]);
  for (int lane = 0; lane < LANES; ++lane) {
    if (!missing[lane]) continue;
    g->slope_known[lane] = 1;
    if (bad[lane]) hand_back(b, g, lane, BATCH_ALONE);
  }
}

static void look(Batch *b) {
  Group *g = b->groups[LOOK_AHEAD];
  mask active = {0};
  for (int lane = 0; lane < LANES; ++lane) active[lane] = -(g->simulation[lane] >= 0);
  slopes(b, g, active); /* before, as alone */
  linearise_lanes(&g->lanes, b->linear);
  for (int lane = 0; lane < LANES; ++lane) {
    Simulation *s;
    if (g->simulation[lane] < 0) continue;
    s = &b->simulations[g->simulation[lane]];
    decide(&s->control, b->linear->radius[lane], b->span[g->row[lane]]);
    put_aside(b, g, lane, s->control.implicit);
  }
}

/* One step of all lanes of a kind, accepted or not. */
static void step(Batch *b, int kind) {
  Group *g = b->groups[kind];
  Lanes *l = &g->lanes;
  mask active = {0}, bad, accepted = {0}, arrived = {0};
  vec size = ALL(0.0) + 1.0, error, before = ALL(1.0), factor, end = {0.0};
  int some = 0;
  for (int lane = 0; lane < LANES; ++lane) {
    if (g->simulation[lane] >= 0 && begins(b, g, lane)) active[lane] = -1;
  }
  slopes(b, g, active);
  for (int lane = 0; lane < LANES; ++lane) {
    Control *c;
    double left, span;
    int last;
    active[lane] &= -(int64_t)(g->simulation[lane] >= 0);
    if (!active[lane]) continue;
    c = &b->simulations[g->simulation[lane]].control;
    span = b->span[g->row[lane]];
    left = span - LANE(&l->t, 0);
    last = is_last(c, left);
    size[lane] = size_of_step(c, left, last);
    end[lane] = last ? span : LANE(&l->t, 0) + size[lane];
    c->cost += kind ? cost_rosenbrock : cost_explicit;
    before[lane] = c->error_before == 0.0 ? first_error : c->error_before;
    some = 1;
  }
  if (!some) return;
  bad = kind ? rosenbrock_lanes(l, b->linear, size) : explicit_lanes(l, size);
  error = error_of_lanes(l, b->tolerance);
  factor = FACTOR(lanes_exp, lanes_ln, SELECT(error > ALL(least_error), error, ALL(least_error)),
                  before);
  for (int lane = 0; lane < LANES; ++lane) {
    Simulation *s;
    if (!active[lane]) continue;
    s = &b->simulations[g->simulation[lane]];
    if (bad[lane] || !(error[lane] <= 1.0)) {
      const double shorter =
          (bad[lane] ? 0.25 : factor_of_rejected(error[lane])) * size[lane];
      s->failures += bad[lane] != 0;
      if (!shorten(&s->control, ++s->rejections, s->failures, shorter, LANE(&l->t, 0),
                   LANE(&l->now, 0))) {
        hand_back(b, g, lane, BATCH_ALONE);
      } else if (s->control.implicit != kind) {
        put_aside(b, g, lane, s->control.implicit);
      }
      continue;
    }
    accepted[lane] = -1;
    g->slope_known[lane] = !kind;
    s->control.error_before = before[lane];
    accept(&s->control, size[lane], error[lane] > least_error ? error[lane] : least_error,
           factor[lane], s->rejections, kind ? b->linear->radius[lane] : 0.0,
           b->span[g->row[lane]]);
    s->rejections = s->looked = 0;
    if (!(end[lane] < b->span[g->row[lane]])) arrived[lane] = -1;
  }
  l->t = SELECT(accepted, end, l->t);
  for (int i = 0; i < N; ++i) l->x[i] = SELECT(accepted, l->next[i], l->x[i]);
  if (!kind) {
    for (int i = 0; i < N; ++i) l->slope[i] = SELECT(accepted, l->stages[6][i], l->slope[i]);
  }
  if (any(arrived)) arrive(b, g, arrived);
  for (int lane = 0; lane < LANES; ++lane) {
    if (g->simulation[lane] >= 0 && accepted[lane]) {
      const int next = b->simulations[g->simulation[lane]].control.implicit;
      if (next != kind) put_aside(b, g, lane, next);
    }
  }
}
#endif

static void advance(Batch *b) {
  int kind = b->kind, most = -1;
  for (int k = 0; k < KINDS; ++k) {
    const size_t waiting = b->queues[k].count + (size_t)b->groups[k]->active;
    const int lanes = waiting < LANES ? (int)waiting : LANES;
    if (lanes > most || (lanes == most && k == b->kind)) most = lanes, kind = k;
  }
  b->kind = kind;
  fill(b, kind);
#if FMIDENT_STATES
  if (kind == LOOK_AHEAD) {
    look(b);
  } else {
    step(b, kind);
  }
#else
  {
    mask arrived = {0};
    for (int lane = 0; lane < LANES; ++lane) {
      if (b->groups[kind]->simulation[lane] >= 0) arrived[lane] = -1;
    }
    arrive(b, b->groups[kind], arrived);
  }
#endif
}

/* ------------------------------------------------------------------------- begin and end */

/* What the caller does alone, up to the first communication point; 1 where something is said. */
static int first_step(Batch *b, Instance *m, const fmi2ValueReference inputs[], size_t n_inputs,
                      const fmi2ValueReference known[], size_t n_known, const double *values,
                      const double *samples, double tolerance, double stop, double *results) {
  fmi2Integer orders[AT_LEAST_ONE(FMIDENT_NU)];
  double du[AT_LEAST_ONE(FMIDENT_NU)];
  fmi2Component c = m;
  for (size_t k = 0; k < n_inputs; ++k) orders[k] = 1, du[k] = b->du[inputs[k] - FMIDENT_VR_U];
  return fmi2Reset(c) != fmi2OK ||
         fmi2SetupExperiment(c, tolerance > 0.0, tolerance, b->now[0], fmi2True, stop) != fmi2OK ||
         fmi2SetReal(c, known, n_known, values) != fmi2OK ||
         fmi2EnterInitializationMode(c) != fmi2OK ||
         fmi2SetReal(c, inputs, n_inputs, samples) != fmi2OK ||
         fmi2ExitInitializationMode(c) != fmi2OK ||
         fmi2GetReal(c, b->output_references, b->outputs, results) != fmi2OK ||
         (b->moving[0] &&
          fmi2SetRealInputDerivatives(c, inputs, n_inputs, orders, du) != fmi2OK) ||
         fmi2DoStep(c, b->now[0], b->span[0], fmi2True) != fmi2OK ||
         fmi2SetReal(c, inputs, n_inputs, samples + n_inputs) != fmi2OK ||
         fmi2GetReal(c, b->output_references, b->outputs, results + b->outputs) != fmi2OK ||
         fmident_ensure(m, VALID_A) || fmident_check_asserts(m);
}

static void take_over(Simulation *s, const Instance *m, int jump) {
  memcpy(s->p, m->p, FMIDENT_NP * sizeof *s->p);
  memcpy(s->c, m->c, FMIDENT_NC * sizeof *s->c);
  memcpy(s->u, m->u, FMIDENT_NU * sizeof *s->u);
  s->control = m->now.control;
  s->row = 1;
#if FMIDENT_STATES
  memcpy(s->x, m->x, sizeof s->x);
  memcpy(s->slope, fmident_path(m)->slope, sizeof s->slope);
  s->slope_known = fmident_path(m)->slope_known && !jump;
#else
  (void)jump;
#endif
}

/* Rows: when, how far, and what happens to the inputs; 0 where a step would be refused alone. */
static int lay_out(Batch *b, const double times[], const fmi2ValueReference inputs[],
                   size_t n_inputs, const double samples[], int lines) {
  b->now[0] = times[0];
  for (size_t row = 0; row + 1 < b->rows; ++row) {
    const double size = times[row + 1] - times[row], t_end = times[row] + size;
    const double slack = 1e-6 * fabs(size) + 1e-12 * fabs(b->now[row]);
    if (!isfinite(t_end) || !(size > 0.0) || fabs(times[row] - b->now[row]) > slack ||
        t_end > times[b->rows - 1] + slack || !(t_end > b->now[row])) {
      return 0;
    }
    b->now[row + 1] = t_end;
    b->span[row] = t_end - b->now[row];
    for (size_t k = 0; k < n_inputs; ++k) {
      const unsigned i = inputs[k] - FMIDENT_VR_U;
      const double *u = samples + row * n_inputs + k;
      const double slope = lines ? (u[n_inputs] - u[0]) / size : 0.0;
      if (!isfinite(u[0]) || !isfinite(u[n_inputs]) || !isfinite(slope)) return 0;
      b->driven[i] = 1;
      b->u[row * FMIDENT_NU + i] = u[0];
      b->u[(row + 1) * FMIDENT_NU + i] = u[n_inputs];
      b->du[row * FMIDENT_NU + i] = slope;
      b->moving[row] |= slope != 0.0;
    }
    for (unsigned i = 0; i < FMIDENT_NU; ++i) {
      const double *u = b->u + row * FMIDENT_NU + i, after = u[FMIDENT_NU];
      const double slope = b->du[row * FMIDENT_NU + i];
      const double before = b->moving[row] ? u[0] + slope * b->span[row] : u[0];
      if (b->driven[i] && memcmp(&before, &after, sizeof after) != 0 &&
          fmident_is_jump(before, after, slope * b->span[row])) {
        b->jumps[row + 1] = 1;
      }
    }
  }
  return 1;
}

static void *zeros(size_t count, size_t size) { return calloc(count ? count : 1, size); }

static int make_room(Batch *b) {
  const size_t bytes = sizeof(Group) + b->outputs * sizeof(double *);
  const size_t whole = (bytes + 63) / 64 * 64;
  b->now = zeros(b->rows, sizeof *b->now);
  b->span = zeros(b->rows, sizeof *b->span);
  b->u = zeros(b->rows * FMIDENT_NU, sizeof *b->u);
  b->du = zeros(b->rows * FMIDENT_NU, sizeof *b->du);
  b->driven = zeros(FMIDENT_NU, 1);
  b->jumps = zeros(b->rows, 1);
  b->moving = zeros(b->rows, 1);
  b->output_references = zeros(b->outputs, sizeof *b->output_references);
  b->states = zeros(b->count, 1);
  b->simulations = zeros(b->count, sizeof *b->simulations);
#if FMIDENT_STATES
  b->linear = aligned_alloc(64, sizeof *b->linear);
  if (!b->linear) return 0;
  memset(b->linear, 0, sizeof *b->linear);
#endif
  for (int k = 0; k < KINDS; ++k) {
    b->queues[k].items = zeros(b->count, sizeof *b->queues[k].items);
    b->groups[k] = aligned_alloc(64, whole);
    if (!b->queues[k].items || !b->groups[k]) return 0;
    memset(b->groups[k], 0, whole);
    for (int lane = 0; lane < LANES; ++lane) b->groups[k]->simulation[lane] = -1;
  }
  return b->now && b->span && b->u && b->du && b->driven && b->jumps && b->moving &&
         b->output_references && b->states && b->simulations;
}

static void end(Batch *b) {
  if (!b) return;
  free(b->now), free(b->span), free(b->u), free(b->du), free(b->driven), free(b->jumps);
  free(b->moving), free(b->output_references), free(b->states), free(b->simulations);
#if FMIDENT_STATES
  free(b->linear);
#endif
  for (int k = 0; k < KINDS; ++k) free(b->queues[k].items), free(b->groups[k]);
  free(b);
}

static int known_outputs(Batch *b, const fmi2ValueReference outputs[]) {
  for (size_t k = 0; k < b->outputs; ++k) {
    b->output_references[k] = outputs[k];
    b->wants_dx |= outputs[k] - FMIDENT_VR_DX < FMIDENT_NX;
    b->wants_w |= outputs[k] - FMIDENT_VR_W < FMIDENT_NW;
    for (int kind = 0; kind < KINDS; ++kind) {
      b->groups[kind]->sources[k] = source(&b->groups[kind]->lanes, outputs[k]);
      if (!b->groups[kind]->sources[k]) return 0;
    }
  }
  return 1;
}

static Batch *start(double tolerance, const double times[], size_t n_times,
                         const fmi2ValueReference inputs[], size_t n_inputs,
                         const double samples[], fmi2Boolean lines,
                         const fmi2ValueReference known[], size_t n_known, const double values[],
                         size_t count, const fmi2ValueReference outputs[], size_t n_outputs,
                         double *const results[]) {
  int said = 0;
  fmi2CallbackFunctions callbacks = {silent, calloc, free, NULL, &said};
  Instance *m = NULL;
  Batch *b;
  if (n_times < 2 || count == 0) return NULL;
  for (size_t k = 0; k < n_inputs; ++k) {
    if (inputs[k] - FMIDENT_VR_U >= FMIDENT_NU) return NULL;
  }
  b = calloc(1, sizeof *b);
  if (!b) return NULL;
  b->rows = n_times;
  b->count = b->open = count;
  b->outputs = n_outputs;
  b->results = results;
  if (!make_room(b) || !known_outputs(b, outputs) || !(m = fmident_new("batch")) ||
      !lay_out(b, times, inputs, n_inputs, samples, lines)) {
    fmident_delete(m);
    end(b);
    return NULL;
  }
  m->callbacks = callbacks;
#if FMIDENT_STATES
  b->tolerance = fmax(local_share * (tolerance > 0.0 ? tolerance : fmident_default_tolerance),
                      smallest_local_tolerance);
#endif
  for (size_t k = 0; k < count; ++k) {
    said = 0;
    if (first_step(b, m, inputs, n_inputs, known, n_known, values + k * n_known, samples,
                   tolerance, times[n_times - 1], results[k]) ||
        said) {
      b->states[k] = BATCH_ALONE;
      --b->open;
    } else if (n_times == 2) {
      b->states[k] = BATCH_DONE;
      --b->open;
    } else {
      Simulation *s = &b->simulations[k];
      take_over(s, m, b->jumps[1]);
      push(b, &b->queues[s->control.implicit ? IMPLICIT_STEP : EXPLICIT_STEP], k, 0);
    }
  }
  fmident_delete(m);
  return b;
}

static size_t go_on(Batch *b, size_t steps, unsigned char states[]) {
  for (size_t k = 0; k < steps && b->open > 0; ++k) advance(b);
  memcpy(states, b->states, b->count);
  return b->open;
}

#pragma GCC pop_options

/* From here on nothing needs the registers that may be missing. */
static int usable(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}

Batch *fmidentStartBatch(double tolerance, const double times[], size_t n_times,
                         const fmi2ValueReference inputs[], size_t n_inputs,
                         const double samples[], fmi2Boolean lines,
                         const fmi2ValueReference known[], size_t n_known, const double values[],
                         size_t count, const fmi2ValueReference outputs[], size_t n_outputs,
                         double *const results[]) {
  if (!usable()) return NULL;
  return start(tolerance, times, n_times, inputs, n_inputs, samples, lines, known, n_known, values,
               count, outputs, n_outputs, results);
}

size_t fmidentAdvanceBatch(Batch *b, size_t steps, unsigned char states[]) {
  return go_on(b, steps, states);
}

void fmidentEndBatch(Batch *b) { end(b); }

#else

Batch *fmidentStartBatch(double tolerance, const double times[], size_t n_times,
                         const fmi2ValueReference inputs[], size_t n_inputs,
                         const double samples[], fmi2Boolean lines,
                         const fmi2ValueReference known[], size_t n_known, const double values[],
                         size_t count, const fmi2ValueReference outputs[], size_t n_outputs,
                         double *const results[]) {
  (void)tolerance, (void)times, (void)n_times, (void)inputs, (void)n_inputs, (void)samples;
  (void)lines, (void)known, (void)n_known, (void)values, (void)count, (void)outputs;
  (void)n_outputs, (void)results;
  return NULL;
}

size_t fmidentAdvanceBatch(Batch *b, size_t steps, unsigned char states[]) {
  (void)b, (void)steps, (void)states;
  return 0;
}

void fmidentEndBatch(Batch *b) { (void)b; }

#endif
