/* Get, set and serialise the state of the FMU.
 *
 * The history of the integrator is not part of it. Taking a snapshot therefore makes the
 * instance begin a new integration, exactly as an instance does that the snapshot is given
 * to: both go on with the same bits. */
#include "sensitivities.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  char guid[64]; /* of the FMU that it belongs to */
  Status status;
  size_t count; /* of knowns of sensitivities */
  Crossing crossing;
  char lost[sizeof(((Sensitivities *)0)->lost)];
} Head;

typedef struct {
  Head head;
  unsigned char *body; /* doubles, then flags, then sensitivities */
} Snapshot;

#define PLAIN_SIZE (SNAPSHOT_DOUBLES * sizeof(double) + SNAPSHOT_FLAGS)

/* Of each known: its value reference, the sensitivities and their largest sizes, those of discrete
 * variables, and the shift of the last event. */
static size_t body_size(size_t count) {
  return PLAIN_SIZE +
         count * (sizeof(unsigned) + (2 * FMIDENT_NX + FMIDENT_ND + 1) * sizeof(double));
}

static void free_snapshot(Snapshot *s) {
  if (!s) return;
  free(s->body);
  free(s);
}

static Snapshot *new_snapshot(size_t count) {
  Snapshot *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->head.count = count;
  s->body = calloc(1, body_size(count) + 1);
  if (!s->body) {
    free(s);
    return NULL;
  }
  return s;
}

/* Move the sensitivities between an instance and a snapshot, row by row. */
static void move_sensitivities(Sensitivities *s, unsigned char *body, int keep) {
  const size_t row = s->count * sizeof(double);
  unsigned char *at = body + PLAIN_SIZE;
#define MOVE(place, size) \
  (keep ? memcpy(at, place, size) : memcpy(place, at, size), at += (size))
  if (s->count == 0) return;
  MOVE(s->known, s->count * sizeof *s->known);
  for (size_t i = 0; i < FMIDENT_NX; ++i) MOVE(s->states + i * s->stride, row);
  for (size_t i = 0; i < FMIDENT_NX; ++i) MOVE(s->sizes + i * s->stride, row);
  for (size_t i = 0; i < FMIDENT_ND; ++i) MOVE(s->held + i * s->stride, row);
  MOVE(s->last_shift, row);
#undef MOVE
}

static fmi2Status refuse(const Instance *m, const char *function, const char *why) {
  fmident_log(m, fmi2Error, "%s: %s", function, why);
  return fmi2Error;
}

static int foreign(const Head *head) { return strcmp(head->guid, fmident_guid) != 0; }

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state) {
  Instance *m = c;
  Snapshot *s = *state; /* an existing one is written over */
#if FMIDENT_EVENTS
  fmident_undo_reading(m);
#endif
  if (s && s->head.count != m->sensitivities->count) {
    free_snapshot(s);
    *state = s = NULL;
  }
  if (!s) s = new_snapshot(m->sensitivities->count);
  if (!s) return refuse(m, "fmi2GetFMUstate", "out of memory");
  strncpy(s->head.guid, fmident_guid, sizeof s->head.guid - 1);
  s->head.status = m->now;
  memcpy(s->body, m->doubles, SNAPSHOT_DOUBLES * sizeof(double));
  memcpy(s->body + SNAPSHOT_DOUBLES * sizeof(double), m->flags, SNAPSHOT_FLAGS);
  memcpy(s->head.lost, m->sensitivities->lost, sizeof s->head.lost);
  s->head.crossing = m->sensitivities->crossing;
  move_sensitivities(m->sensitivities, s->body, 1);
  m->change |= CHANGE_RESTART;
  *state = s;
  return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
  Instance *m = c;
  const Snapshot *s = state;
  if (!s) return refuse(m, "fmi2SetFMUstate", "there is no state");
  if (foreign(&s->head)) return refuse(m, "fmi2SetFMUstate", "the state is of another FMU");
  if (s->head.status.exchange != m->now.exchange) {
    return refuse(m, "fmi2SetFMUstate", "the state is of an instance for the other interface");
  }
  if (fmident_sensitivities_resize(m->sensitivities, s->head.count, NULL)) {
    return refuse(m, "fmi2SetFMUstate", "out of memory");
  }
  move_sensitivities(m->sensitivities, s->body, 0);
  memcpy(m->sensitivities->lost, s->head.lost, sizeof s->head.lost);
  m->sensitivities->crossing = s->head.crossing;
  m->now = s->head.status;
  memcpy(m->doubles, s->body, SNAPSHOT_DOUBLES * sizeof(double));
  memcpy(m->flags, s->body + SNAPSHOT_DOUBLES * sizeof(double), SNAPSHOT_FLAGS);
  m->now.valid &= VALID_X; /* all else follows */
  m->change = CHANGE_RESTART;
  m->reading = READ_LOOKS_FIRST;
  m->interpolating = 0;
  for (size_t i = 0; i < FMIDENT_NU; ++i) m->interpolating |= m->du[i] != 0.0;
  return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state) {
  (void)c;
  if (state) {
    free_snapshot(*state);
    *state = NULL;
  }
  return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size) {
  const Snapshot *s = state;
  if (!s) return refuse(c, "fmi2SerializedFMUstateSize", "there is no state");
  *size = sizeof(Head) + body_size(s->head.count);
  return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[],
                                 size_t size) {
  const Snapshot *s = state;
  if (!s) return refuse(c, "fmi2SerializeFMUstate", "there is no state");
  if (size < sizeof(Head) + body_size(s->head.count)) {
    return refuse(c, "fmi2SerializeFMUstate", "the buffer is too small");
  }
  memcpy(bytes, &s->head, sizeof(Head));
  memcpy(bytes + sizeof(Head), s->body, body_size(s->head.count));
  return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                   fmi2FMUstate *state) {
  static const char name[] = "fmi2DeSerializeFMUstate";
  Head head;
  Snapshot *s;
  if (size < sizeof(Head)) {
    return refuse(c, name, "the bytes do not have the length of a state of this FMU");
  }
  memcpy(&head, bytes, sizeof(Head));
  head.guid[sizeof head.guid - 1] = head.lost[sizeof head.lost - 1] = '\0';
  if (foreign(&head)) return refuse(c, name, "the bytes are of another FMU");
  if (head.count > size || size != sizeof(Head) + body_size(head.count)) {
    return refuse(c, name, "the bytes do not have the length of a state of this FMU");
  }
  for (size_t j = 0; j < head.count; ++j) {
    unsigned known;
    memcpy(&known, bytes + sizeof(Head) + PLAIN_SIZE + j * sizeof known, sizeof known);
    if (!fmident_is_known(known)) {
      return refuse(c, name, "the bytes name sensitivities that this FMU does not have");
    }
  }
  s = new_snapshot(head.count); /* the caller's handle need not be initialised here */
  if (!s) return refuse(c, name, "out of memory");
  s->head = head;
  memcpy(s->body, bytes + sizeof(Head), body_size(head.count));
  *state = s;
  return fmi2OK;
}
