// What the files of native code share: vectors of floats as wide as the processor has them, and affine maps.

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float floats __attribute__((vector_size(LANES * 4)));
typedef int32_t whole __attribute__((vector_size(LANES * 4)));

enum { COLUMNS = 2 * LANES };  // of a product that are made together
static inline floats load_floats(const float *x) { floats v; memcpy(&v, x, sizeof v); return v; }
static inline void store_floats(float *x, floats v) { memcpy(x, &v, sizeof v); }
// In pairs: one after the other, each addition would wait for the last.
static inline float sum_of(floats v) {
    float x[LANES];
    memcpy(x, &v, sizeof v);
    for (int n = LANES / 2; n; n /= 2)
        for (int i = 0; i < n; i++) x[i] += x[i + n];
    return x[0];
}

static inline floats greater(floats x, floats y) {
    whole first = x > y;  // not so where x is not a number
    return (floats)(((whole)x & first) | ((whole)y & ~first));
}

// The greatest of `size` numbers, those that are none aside.
static inline float greatest_of(const float *x, int64_t size) {
    int64_t even = size - size % LANES;
    float most = -INFINITY;
    floats top = (floats){0} - INFINITY;
    for (int64_t i = 0; i < even; i += LANES) top = greater(load_floats(x + i), top);
    for (int l = 0; l < LANES; l++) most = top[l] > most ? top[l] : most;
    for (int64_t i = even; i < size; i++) most = x[i] > most ? x[i] : most;
    return most;
}

// e^x to about 1e-7 of itself, for x <= 88; below -87 as at -87 (1e-38). What is not a number stays so.
static inline floats exp_of(floats x) {
    const floats low = {0} , magic = low + 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
    floats least = low - 87.0f;
    whole small = x < least;
    x = (floats)(((whole)least & small) | ((whole)x & ~small));
    floats shifted = x * 1.44269504f + magic, n = shifted - magic;
    floats r = x - n * 0.693359375f + n * 2.12194440e-4f;
    floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    whole power = ((whole)shifted << 23) + (127 << 23);
    return p * (floats)power;
}

// y = x W^T + b. `scales` is NULL for a W in float32 and has a number for each output where W is in 8 bits.
typedef struct {
    const void *weights;
    const float *scales;
    const int32_t *totals;
    const float *bias;
    int64_t inputs, outputs;
} affine;

int64_t int8_row_bytes(int64_t inputs);
void int8_linear(
    const float *x, int64_t rows, int64_t inputs, const int8_t *packed, const float *scales, const int32_t *totals,
    const float *bias, int64_t outputs, float *y, void *work);
void float32_linear(const affine *map, const float *x, int64_t rows, float *y);
void float32_product(
    const float *a, int64_t a_down, int64_t a_along, const float *b, int64_t b_down, int64_t b_along, const float *bias,
    float *c, int64_t c_down, int64_t first, int64_t last, int64_t inner, int64_t columns,
    int64_t room);
