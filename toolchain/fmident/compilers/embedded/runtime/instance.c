/* Memory and start values of an instance. */
#include "sensitivities.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(n) ((n) > 0 ? (size_t)(n) : 1u)

void fmident_delete(Instance *instance) {
  if (!instance) return;
#if FMIDENT_STATES
  fmident_integrator_delete(instance->integrator);
#endif
  fmident_sensitivities_delete(instance->sensitivities);
  free(instance->name);
  free(instance->doubles);
  free(instance->flags);
  free((void *)instance->arg);
  free(instance->res);
  free(instance->iw);
  free(instance);
}

Instance *fmident_new(const char *name) {
  Instance *m = calloc(1, sizeof *m);
  double *next;
  const size_t total = (size_t)SNAPSHOT_DOUBLES                            /* kept */
                       + FMIDENT_NX + FMIDENT_NY + FMIDENT_NW + FMIDENT_NC + FMIDENT_NH + FMIDENT_NA
                       + FMIDENT_NU + FMIDENT_NX + FMIDENT_NU + FMIDENT_NP /* u_at, seeds */
                       + FMIDENT_NY + FMIDENT_NX + FMIDENT_NW + FMIDENT_NC
                       + FMIDENT_JACOBIAN_ELEMENTS + FMIDENT_SZ_W
                       + FMIDENT_NX + FMIDENT_NH + FMIDENT_ND + FMIDENT_NS + FMIDENT_NZ /* kept while reading */
                       + FMIDENT_NZ + FMIDENT_NK + 1 + FMIDENT_NX + FMIDENT_NU;            /* loops */
  if (!m) return NULL;
  m->name = malloc(strlen(name) + 1);
  m->doubles = calloc(COUNT(total), sizeof(double));
  m->flags = calloc(COUNT(SNAPSHOT_FLAGS), 1);
  m->arg = calloc(COUNT(FMIDENT_SZ_ARG), sizeof *m->arg);
  m->res = calloc(COUNT(FMIDENT_SZ_RES), sizeof *m->res);
  m->iw = calloc(COUNT(FMIDENT_SZ_IW), sizeof *m->iw);
  m->sensitivities = fmident_sensitivities_new();
  if (!m->sensitivities || !m->name || !m->doubles || !m->flags || !m->arg || !m->res || !m->iw) {
    fmident_delete(m);
    return NULL;
  }
  strcpy(m->name, name);
  next = m->doubles;
#define TAKE(field, count) (m->field = next, next += (count))
  TAKE(x, FMIDENT_NX); /* the first nine are the snapshot */
  TAKE(x_start, FMIDENT_NX);
  TAKE(u, FMIDENT_NU);
  TAKE(du, FMIDENT_NU);
  TAKE(p, FMIDENT_NP);
  TAKE(held, FMIDENT_NH);
  TAKE(before, FMIDENT_ND);
  TAKE(ticks, FMIDENT_NS);
  TAKE(guess, FMIDENT_NZ);
  TAKE(dx, FMIDENT_NX);
  TAKE(y, FMIDENT_NY);
  TAKE(w, FMIDENT_NW);
  TAKE(c, FMIDENT_NC + FMIDENT_NH + FMIDENT_NZ + FMIDENT_NK);
  TAKE(a, FMIDENT_NA);
  TAKE(u_at, FMIDENT_NU);
  TAKE(seed_x, FMIDENT_NX);
  TAKE(seed_u, FMIDENT_NU);
  TAKE(seed_p, FMIDENT_NP);
  TAKE(seed_y, FMIDENT_NY);
  TAKE(seed_dx, FMIDENT_NX);
  TAKE(seed_w, FMIDENT_NW);
  TAKE(seed_c, FMIDENT_NC);
  TAKE(kept, FMIDENT_NX + FMIDENT_NH + FMIDENT_ND + FMIDENT_NS + FMIDENT_NZ);
  TAKE(loops_at, 1 + FMIDENT_NX + FMIDENT_NU);
  TAKE(jacobian, FMIDENT_JACOBIAN_ELEMENTS);
  TAKE(work, FMIDENT_SZ_W);
#undef TAKE
  m->x_set = m->flags;
  m->warned = m->flags + FMIDENT_NX;
  m->log_mask = LOG_ALL;
  fmident_set_defaults(m);
#if FMIDENT_STATES
  m->integrator = fmident_integrator_new(m);
  if (!m->integrator) {
    fmident_delete(m);
    return NULL;
  }
#endif
  return m;
}

static void copy(double *to, const double *from, size_t count) {
  if (count > 0) memcpy(to, from, count * sizeof *to);
}

void fmident_set_defaults(Instance *m) {
  memset(m->doubles, 0, SNAPSHOT_DOUBLES * sizeof(double));
  memset(m->flags, 0, SNAPSHOT_FLAGS);
  copy(m->p, fmident_parameter_defaults, FMIDENT_NP);
  copy(m->u, fmident_input_starts, FMIDENT_NU);
  copy(m->x_start, fmident_state_starts, FMIDENT_NX);
  fmident_sensitivities_resize(m->sensitivities, 0, NULL);
  memset(&m->now.control, 0, sizeof m->now.control);
  m->now.state = STATE_INSTANTIATED;
  m->now.valid = 0;
  m->now.unsettled = 0;
  m->now.moved = 0;
  m->now.has_stop_time = 0;
  m->now.idle = 0;
  m->now.t = 0.0;
  m->now.stop_time = 0.0;
  m->now.tolerance = fmident_default_tolerance;
  m->change = CHANGE_RESTART;
  m->last_step = 0.0;
  m->interpolating = 0;
  m->trouble[0] = '\0';
  m->loops_known = 0;
  m->row.count = 0;
  m->has_happened = 0;
  m->reading = READ_IS_CURRENT;
  m->row.relation = -1;
}
