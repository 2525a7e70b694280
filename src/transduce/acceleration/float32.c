// y = x W^T + b in float32. A row's sums are taken in one order whatever stands beside it, so its result does not depend on
// what shares the batch. Weights lie in blocks of 16 outputs, input by input.

#include "native.h"

#if defined(__AVX512F__)
enum { ROWS = 12 };
static const char path[] = "AVX-512";
#elif defined(__AVX2__)
enum { ROWS = 6 };
static const char path[] = "AVX2";
#else
enum { ROWS = 4 };
static const char path[] = "128-bit vectors";
#endif
enum { BLOCK = 16, VECTORS = BLOCK / LANES };

const char *float32_path(void) { return path; }

int64_t float32_weight_floats(int64_t outputs, int64_t inputs) { return (outputs + BLOCK - 1) / BLOCK * BLOCK * inputs; }

void float32_pack(const float *w, int64_t outputs, int64_t inputs, float *packed) {
    memset(packed, 0, float32_weight_floats(outputs, inputs) * sizeof(float));
    for (int64_t o = 0; o < outputs; o++)
        for (int64_t i = 0; i < inputs; i++) packed[(o / BLOCK * inputs + i) * BLOCK + o % BLOCK] = w[o * inputs + i];
}

// Few rows leave sums waiting for each other, so they meet several blocks at a time: up to 12 vectors of sums, and 8 of
// weights.
#define SEVERAL(rows) (12 / ((rows) * VECTORS))
#define TOGETHER(rows) (SEVERAL(rows) < 1 ? 1 : SEVERAL(rows) * VECTORS > 8 ? 8 / VECTORS : SEVERAL(rows))
enum { MOST_SUMS = 12 };

// Up to ROWS rows by one block of outputs, or by several. `rows` and `blocks` are constants wherever this is inlined.
static inline __attribute__((always_inline)) void tile(
    int rows, int blocks, const float *x, const float *w, int64_t inputs, float sums[][BLOCK]) {
    floats sum[MOST_SUMS][VECTORS];
    for (int r = 0; r < rows * blocks; r++)
        for (int v = 0; v < VECTORS; v++) sum[r][v] = (floats){0};
    for (int64_t i = 0; i < inputs; i++, w += BLOCK)
        for (int b = 0; b < blocks; b++) {
            floats weights[VECTORS];
            for (int v = 0; v < VECTORS; v++) weights[v] = load_floats(w + b * inputs * BLOCK + v * LANES);
            // The next block, which is further away than the processor looks by itself.
            if (blocks == 1 && rows > 3) __builtin_prefetch(w + inputs * BLOCK);
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < VECTORS; v++) sum[r * blocks + b][v] += weights[v] * x[r * inputs + i];
        }
    for (int r = 0; r < rows * blocks; r++) memcpy(sums[r], sum[r], sizeof sums[r]);
}

static void tiles(int rows, int blocks, const float *x, const float *w, int64_t inputs, float sums[][BLOCK]) {
    switch (rows) {
#define CASE(n) case n: \
        if (blocks > 1) tile(n <= ROWS ? n : ROWS, TOGETHER(n), x, w, inputs, sums); \
        else tile(n <= ROWS ? n : ROWS, 1, x, w, inputs, sums); \
        break;
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
#undef CASE
    }
}

void float32_linear(const affine *map, const float *x, int64_t rows, float *y) {
    int64_t inputs = map->inputs, outputs = map->outputs;
    for (int64_t first = 0, blocks; first < outputs; first += blocks * BLOCK) {
        const float *w = (const float *)map->weights + first * inputs;
        blocks = rows < ROWS ? TOGETHER(rows) : 1;
        if (first + blocks * BLOCK > outputs) blocks = 1;
        int64_t width = outputs - first < blocks * BLOCK ? outputs - first : blocks * BLOCK;
        // Even parts: of 13 rows, a last one by itself would take as long as four.
        for (int64_t r = 0, left = (rows + ROWS - 1) / ROWS, here; r < rows; r += here, left--) {
            here = (rows - r + left - 1) / left;
            float sums[MOST_SUMS][BLOCK];
            tiles((int)here, blocks, x + r * inputs, w, inputs, sums);
            for (int i = 0; i < here; i++) {
                float *out = y + (r + i) * outputs + first;
                const float *sum = sums[i * blocks];
                for (int64_t o = 0; o < width; o++) out[o] = map->bias ? sum[o] + map->bias[first + o] : sum[o];
            }
        }
    }
}
