/* Messages go to the caller's logger and nowhere else. */
#include "instance.h"

#include <stdarg.h>
#include <stdio.h>

void fmident_log(const Instance *m, fmi2Status status, const char *format, ...) {
  char text[1024];
  char escaped[2 * sizeof text];
  size_t n = 0;
  va_list list;
  const int category = status == fmi2Warning ? LOG_WARNING : LOG_ERROR;
  if (!m->callbacks.logger || !(m->log_mask & category)) return;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  /* The logger takes a printf format in which '#' starts a variable reference (FMI 2.0.4,
   * 2.1.5). Many loggers ignore the variable arguments, so the whole text is the format. */
  for (const char *s = text; *s; ++s) {
    if (*s == '%' || *s == '#') escaped[n++] = *s;
    escaped[n++] = *s;
  }
  escaped[n] = '\0';
  m->callbacks.logger(m->callbacks.componentEnvironment, m->name, status,
                      status == fmi2Warning ? "logStatusWarning" : "logStatusError", escaped);
}
