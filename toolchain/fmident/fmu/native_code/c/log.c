/* FMI's logger callbacks: they format into a ring of records, without Python, so that a message
 * costs no more than its formatting and another process can read it after a crash.
 *
 * Each ring has functions of its own: not all FMUs hand the environment on that FMI gives them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "loops.h"

enum { RECORDS = 1000, RECORD_BYTES = 2048, HEADER_BYTES = 64, CATEGORY = 8, MESSAGE = 72 };
enum { RINGS = 256 };

static char *rings[RINGS];

static void record(int ring, int status, const char *category, const char *format, va_list values) {
  char *const begin = rings[ring];
  if (begin == NULL || format == NULL) return;
  const int64_t number = __atomic_fetch_add((int64_t *)begin, 1, __ATOMIC_RELAXED);
  char *const place = begin + HEADER_BYTES + number % RECORDS * RECORD_BYTES;
  const int32_t word = status;
  memcpy(place, &word, sizeof word);
  place[CATEGORY] = 0;
  if (category != NULL) {
    strncpy(place + CATEGORY, category, MESSAGE - CATEGORY);
    place[MESSAGE - 1] = 0;
  }
  vsnprintf(place + MESSAGE, RECORD_BYTES - MESSAGE, format, values);
}

static void record_text(int ring, int status, const char *category, const char *format, ...) {
  va_list values;
  va_start(values, format);
  record(ring, status, category, format, values);
  va_end(values);
}

/* FMI 2.0: a format with its values; FMI 3.0: a text. */
#define LOGGERS(k)                                                                                 \
  static void log_##k(void *environment, const char *name, int status, const char *category,       \
                      const char *format, ...) {                                                   \
    va_list values;                                                                                \
    (void)environment, (void)name;                                                                 \
    va_start(values, format);                                                                      \
    record(0x##k, status, category, format, values);                                               \
    va_end(values);                                                                                \
  }                                                                                                \
  static void log_text_##k(void *environment, int status, const char *category,                    \
                           const char *text) {                                                     \
    (void)environment;                                                                             \
    if (text != NULL) record_text(0x##k, status, category, "%s", text);                            \
  }
#define SIXTEEN(of, k)                                                                             \
  of(k##0) of(k##1) of(k##2) of(k##3) of(k##4) of(k##5) of(k##6) of(k##7)                          \
  of(k##8) of(k##9) of(k##a) of(k##b) of(k##c) of(k##d) of(k##e) of(k##f)
#define ALL(of)                                                                                    \
  SIXTEEN(of, 0) SIXTEEN(of, 1) SIXTEEN(of, 2) SIXTEEN(of, 3)                                      \
  SIXTEEN(of, 4) SIXTEEN(of, 5) SIXTEEN(of, 6) SIXTEEN(of, 7)                                      \
  SIXTEEN(of, 8) SIXTEEN(of, 9) SIXTEEN(of, a) SIXTEEN(of, b)                                      \
  SIXTEEN(of, c) SIXTEEN(of, d) SIXTEEN(of, e) SIXTEEN(of, f)
ALL(LOGGERS)
#define LOGGER(k) (void *)log_##k,
#define TEXT_LOGGER(k) (void *)log_text_##k,
static void *const loggers[RINGS] = {ALL(LOGGER)}, *const text_loggers[RINGS] = {ALL(TEXT_LOGGER)};

EXPORTED int64_t fmident_rings(void) { return RINGS; }

/* Has the functions of a ring write to memory from `begin` on. */
EXPORTED void fmident_open_ring(int64_t ring, char *begin) { rings[ring] = begin; }

EXPORTED void *fmident_logger(int64_t ring) { return loggers[ring]; }

EXPORTED void *fmident_text_logger(int64_t ring) { return text_loggers[ring]; }
