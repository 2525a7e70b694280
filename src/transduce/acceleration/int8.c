// y = x W^T + b with W in 8 bits and each row of x in 8 bits by a scale of its own, for x86-64 with AVX2 or more.
//
// A row is quantised by its own least and greatest value, so its result does not depend on what shares the batch. Integer
// sums are exact, so every processor that has VNNI gives the same result, and all others the same. Instructions multiply
// unsigned by signed bytes: a row has a zero of its own above 0, whose share of each sum is taken off again; where nothing
// is below 0, as after a ReLU, every step is of use. Weights lie in blocks of 16 outputs; within a block, 4 numbers of each
// output stand together, as the dot products of 4 bytes (VNNI) want them.

#include "native.h"

#if defined(__AVX2__)
#include <immintrin.h>

enum { GROUP = 4, BLOCK = 16 };

// `dot` adds the products of TOGETHER groups to the sums. Weights go to MOST on either side of 0, and rows from 0 to STEPS.
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
typedef __m512i vector;
enum { VECTORS = 1, TOGETHER = 1, ROWS = 12, MOST = 127, STEPS = 255 };
static const char path[] = "AVX-512 VNNI";
static inline vector load(const int8_t *w) { return _mm512_loadu_si512(w); }
static inline vector spread(const uint8_t *x) { int32_t v; memcpy(&v, x, 4); return _mm512_set1_epi32(v); }
static inline vector dot(vector sum, const vector *x, const vector *w) { return _mm512_dpbusd_epi32(sum, *x, *w); }
static inline vector zero(void) { return _mm512_setzero_si512(); }
#elif defined(__AVXVNNI__)
typedef __m256i vector;
enum { VECTORS = 2, TOGETHER = 1, ROWS = 5, MOST = 127, STEPS = 255 };
static const char path[] = "AVX-VNNI";
static inline vector load(const int8_t *w) { return _mm256_loadu_si256((const __m256i *)w); }
static inline vector spread(const uint8_t *x) { int32_t v; memcpy(&v, x, 4); return _mm256_set1_epi32(v); }
static inline vector dot(vector sum, const vector *x, const vector *w) { return _mm256_dpbusd_avx_epi32(sum, *x, *w); }
static inline vector zero(void) { return _mm256_setzero_si256(); }
#else
// Products of bytes are added in 16 bits here, four before they are widened: 4 x 127 x 63 fits. So both sides have 7 bits.
typedef __m256i vector;
enum { VECTORS = 2, TOGETHER = 2, ROWS = 3, MOST = 63, STEPS = 127 };  // more rows, and gcc 12 puts sums on the stack
static const char path[] = "AVX2";
static inline vector load(const int8_t *w) { return _mm256_loadu_si256((const __m256i *)w); }
static inline vector spread(const uint8_t *x) { int32_t v; memcpy(&v, x, 4); return _mm256_set1_epi32(v); }
static inline vector dot(vector sum, const vector *x, const vector *w) {
    vector four = _mm256_add_epi16(_mm256_maddubs_epi16(x[0], w[0]), _mm256_maddubs_epi16(x[1], w[1]));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(four, _mm256_set1_epi16(1)));
}
static inline vector zero(void) { return _mm256_setzero_si256(); }
#endif

enum { WIDTH = BLOCK * GROUP / VECTORS };  // bytes of weights that a vector holds

const char *int8_path(void) { return path; }

static int64_t blocks(int64_t outputs) { return (outputs + BLOCK - 1) / BLOCK; }
static int64_t groups(int64_t inputs) { return (inputs + GROUP * TOGETHER - 1) / (GROUP * TOGETHER) * TOGETHER; }

// x = scale * (q - zero), in front of a row's q.
typedef struct { float scale; int32_t zero; } scaling;

int64_t int8_weight_bytes(int64_t outputs, int64_t inputs) { return blocks(outputs) * groups(inputs) * BLOCK * GROUP; }
int64_t int8_row_bytes(int64_t inputs) { return sizeof(scaling) + groups(inputs) * GROUP; }

// A scale for each output, and the sum of its weights.
void int8_pack(const float *w, int64_t outputs, int64_t inputs, int8_t *packed, float *scales, int32_t *totals) {
    int64_t depth = groups(inputs);
    memset(packed, 0, int8_weight_bytes(outputs, inputs));
    for (int64_t o = 0; o < outputs; o++) {
        const float *row = w + o * inputs;
        int8_t *block = packed + o / BLOCK * depth * BLOCK * GROUP + o % BLOCK * GROUP;
        float most = 0;
        int32_t sum = 0;
        for (int64_t i = 0; i < inputs; i++) most = fmaxf(most, fabsf(row[i]));
        scales[o] = most / MOST;
        for (int64_t i = 0; i < inputs; i++) {
            int8_t q = most > 0 ? (int8_t)lrintf(row[i] / most * MOST) : 0;
            block[i / GROUP * BLOCK * GROUP + i % GROUP] = q;
            sum += q;
        }
        totals[o] = sum;
    }
}

static inline int32_t bits_of(float x) { int32_t bits; memcpy(&bits, &x, 4); return bits; }

// Whole numbers in the order of the numbers whose bits they come from, with those that are none at both ends.
static inline int32_t in_order(int32_t bits) { return bits ^ (bits >> 31 & 0x7fffffff); }

static float from_order(int32_t key) {
    float x;
    key = in_order(key);
    memcpy(&x, &key, 4);
    return x;
}

// The scale is not a number where one of the row's is not, so that every output shows it.
static void quantise(const float *x, int64_t inputs, uint8_t *row) {
    int32_t least = 0, most = 0;
    for (int64_t i = 0; i < inputs; i++) {
        int32_t key = in_order(bits_of(x[i]));
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    float low = from_order(least), high = from_order(most);
    // One step fewer than there are: both the zero and a number may be rounded up.
    float factor = (STEPS - 1) / (high - low);
    uint8_t *q = row + sizeof(scaling);
    if (!(factor > 0 && factor < INFINITY)) {
        memset(q, 0, groups(inputs) * GROUP);
        *(scaling *)row = (scaling){high - low < 1 ? 0 : NAN, 0};
        return;
    }
    int32_t zero = (int32_t)rintf(-low * factor);
    for (int64_t i = 0; i < inputs; i++) q[i] = (uint8_t)((int32_t)rintf(x[i] * factor) + zero);
    for (int64_t i = inputs; i < groups(inputs) * GROUP; i++) q[i] = (uint8_t)zero;
    *(scaling *)row = (scaling){(high - low) / (STEPS - 1), zero};
}

// Sums of up to ROWS rows and one block of outputs. `rows` is a constant wherever this is inlined.
static inline __attribute__((always_inline)) void tile(
    int rows, const uint8_t *x, int64_t stride, const int8_t *w, int64_t depth, int32_t sums[][BLOCK]) {
    vector sum[ROWS][VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) sum[r][v] = zero();
    for (int64_t g = 0; g < depth; g += TOGETHER, w += TOGETHER * BLOCK * GROUP) {
        vector weights[VECTORS][TOGETHER];
        for (int v = 0; v < VECTORS; v++)
            for (int t = 0; t < TOGETHER; t++) weights[v][t] = load(w + t * BLOCK * GROUP + v * WIDTH);
        // The next block, which is further away than the processor looks by itself.
        for (int t = 0; t < TOGETHER; t++) __builtin_prefetch(w + (depth + t) * BLOCK * GROUP);
        for (int r = 0; r < rows; r++) {
            vector row[TOGETHER];
            for (int t = 0; t < TOGETHER; t++) row[t] = spread(x + r * stride + (g + t) * GROUP);
            for (int v = 0; v < VECTORS; v++) sum[r][v] = dot(sum[r][v], row, weights[v]);
        }
    }
    for (int r = 0; r < rows; r++) memcpy(sums[r], sum[r], sizeof sums[r]);
}

static void tiles(int rows, const uint8_t *x, int64_t stride, const int8_t *w, int64_t depth, int32_t sums[][BLOCK]) {
    switch (rows) {
#define CASE(n) case n: tile(n <= ROWS ? n : ROWS, x, stride, w, depth, sums); break;
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
#undef CASE
    }
}

// `work` has room for `rows` rows of int8_row_bytes; `bias` may be NULL.
void int8_linear(
    const float *x, int64_t rows, int64_t inputs, const int8_t *packed, const float *scales, const int32_t *totals,
    const float *bias, int64_t outputs, float *y, void *work) {
    uint8_t *quantised = work;
    int64_t depth = groups(inputs), stride = int8_row_bytes(inputs);
    for (int64_t r = 0; r < rows; r++) quantise(x + r * inputs, inputs, quantised + r * stride);
    for (int64_t first = 0; first < outputs; first += BLOCK) {
        const int8_t *w = packed + first / BLOCK * depth * BLOCK * GROUP;
        int64_t width = outputs - first < BLOCK ? outputs - first : BLOCK;
        for (int64_t r = 0; r < rows; r += ROWS) {
            int here = rows - r < ROWS ? (int)(rows - r) : ROWS;
            int32_t sums[ROWS][BLOCK];
            tiles(here, quantised + r * stride + sizeof(scaling), stride, w, depth, sums);
            for (int i = 0; i < here; i++) {
                float *out = y + (r + i) * outputs + first;
                scaling row = *(const scaling *)(quantised + (r + i) * stride);
                for (int64_t o = 0; o < width; o++) {
                    float value = (float)(sums[i][o] - row.zero * totals[first + o]) * (row.scale * scales[first + o]);
                    out[o] = bias ? value + bias[first + o] : value;
                }
            }
        }
    }
}

#else
// A processor that has none of this: `int8_path` says so.
const char *int8_path(void) { return 0; }
int64_t int8_weight_bytes(int64_t outputs, int64_t inputs) { return 0; }
int64_t int8_row_bytes(int64_t inputs) { return 0; }
void int8_pack(const float *w, int64_t outputs, int64_t inputs, int8_t *packed, float *scales, int32_t *totals) {}
void int8_linear(
    const float *x, int64_t rows, int64_t inputs, const int8_t *packed, const float *scales, const int32_t *totals,
    const float *bias, int64_t outputs, float *y, void *work) {}
#endif
