/* The floating-point state of the processor as a number: SSE and, above it, the x87 unit on x86;
 * FPCR on 64-bit Arm. */
#include "loops.h"

EXPORTED uint64_t fmident_floating_point(void) {
  uint64_t state = 0;
#if defined(__x86_64__)
  uint16_t x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  state = _mm_getcsr() | (uint64_t)x87 << 32;
#elif defined(__aarch64__)
  __asm__ volatile("mrs %0, fpcr" : "=r"(state));
#endif
  return state;
}

EXPORTED void fmident_set_floating_point(uint64_t state) {
#if defined(__x86_64__)
  const uint16_t x87 = (uint16_t)(state >> 32);
  _mm_setcsr((uint32_t)state);
  __asm__ volatile("fldcw %0" : : "m"(x87));
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(state));
#else
  (void)state;
#endif
}

EXPORTED uint64_t fmident_standard_floating_point(void) {
#if defined(__x86_64__)
  return 0x1F80 | (uint64_t)0x037F << 32;
#else
  return 0;
#endif
}

EXPORTED void fmident_restore_floating_point(void) { restore_floating_point(); }
