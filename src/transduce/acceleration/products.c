// C = A B + bias in float32, for matrices that lie in any order: what training multiplies, forwards and backwards.
// Each sum is taken in one order, wherever rows are cut for threads.

#include <stdlib.h>

#include "native.h"

#if defined(__AVX512F__)
enum { ROWS = 14 };  // 28 sums, 2 vectors of B and a number of A in 32 registers
#else
enum { ROWS = 6 };   // 12 sums in 16 registers
#endif
enum {
    VECTORS = COLUMNS / LANES,
    DEPTH = 256,          // of a panel of B: it stays in the first cache
    BLOCK = 520 / ROWS * ROWS,  // most rows of A, whole tiles, that a panel meets in turn: DEPTH of each stay in the
                                // second cache
    LINE = 16,            // numbers that memory sends together
    ACROSS = COLUMNS < LINE ? 1 : COLUMNS / LINE,  // such lines in a row of a panel
};

// Up to ROWS rows by a panel. `rows` is a constant wherever this is inlined.
static inline __attribute__((always_inline)) void tile(
    int rows, const float *a, int64_t down, int64_t along, const float *panel, int64_t depth, float *c, int64_t stride,
    const float *start, int64_t start_stride) {
    floats sum[ROWS][VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) sum[r][v] = load_floats(start + r * start_stride + v * LANES);
    for (int64_t p = 0; p < depth; p++, a += along, panel += COLUMNS) {
        floats b[VECTORS];
        for (int v = 0; v < VECTORS; v++) b[v] = load_floats(panel + v * LANES);
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < VECTORS; v++) sum[r][v] += b[v] * a[r * down];
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) store_floats(c + r * stride + v * LANES, sum[r][v]);
}

static void tiles(
    int rows, const float *a, int64_t down, int64_t along, const float *panel, int64_t depth, float *c, int64_t stride,
    const float *start, int64_t start_stride) {
    switch (rows) {
#define CASE(n) case n: tile(n <= ROWS ? n : ROWS, a, down, along, panel, depth, c, stride, start, start_stride); break;
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7)
        CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14)
#undef CASE
    }
}

typedef float four __attribute__((vector_size(16)));
#if defined(__clang__)
#define CHOOSE(x, y, i, j, k, l) __builtin_shufflevector(x, y, i, j, k, l)
#else
typedef int32_t places __attribute__((vector_size(16)));
#define CHOOSE(x, y, i, j, k, l) __builtin_shuffle(x, y, (places){i, j, k, l})
#endif

// Four numbers of each of four columns, as four rows of a panel.
static inline void transpose(const float *columns, int64_t along, float *panel) {
    four a, b, c, d;
    memcpy(&a, columns, sizeof a);
    memcpy(&b, columns + along, sizeof b);
    memcpy(&c, columns + 2 * along, sizeof c);
    memcpy(&d, columns + 3 * along, sizeof d);
    four upper = CHOOSE(a, b, 0, 4, 1, 5), upper_right = CHOOSE(c, d, 0, 4, 1, 5);
    four lower = CHOOSE(a, b, 2, 6, 3, 7), lower_right = CHOOSE(c, d, 2, 6, 3, 7);
    four rows[] = {
        CHOOSE(upper, upper_right, 0, 1, 4, 5), CHOOSE(upper, upper_right, 2, 3, 6, 7),
        CHOOSE(lower, lower_right, 0, 1, 4, 5), CHOOSE(lower, lower_right, 2, 3, 6, 7),
    };
    for (int r = 0; r < 4; r++) memcpy(panel + r * COLUMNS, rows + r, sizeof *rows);
}

// `depth` rows of B by `width` columns, in the order in which `tile` reads them; 0 in the columns that are missing.
static void pack(const float *b, int64_t down, int64_t along, int64_t depth, int64_t width, float *panel) {
    if (along == 1 && width == COLUMNS) {
        for (int64_t p = 0; p < depth; p++) memcpy(panel + p * COLUMNS, b + p * down, COLUMNS * sizeof(float));
        return;
    }
    if (width < COLUMNS) memset(panel, 0, depth * COLUMNS * sizeof(float));
    int64_t wide = width - width % 4, deep = down == 1 ? depth - depth % 4 : 0;
    for (int64_t j = 0; j < wide; j += 4)
        for (int64_t p = 0; p < deep; p += 4) transpose(b + p + j * along, along, panel + p * COLUMNS + j);
    for (int64_t p = 0; p < depth; p++)
        for (int64_t j = p < deep ? wide : 0; j < width; j++) panel[p * COLUMNS + j] = b[p * down + j * along];
}

// Asks memory for a share, from `from` to `to` of `whole`, of a panel that will be packed next: it is there by then.
// Asking beyond the end of B, after its last panel, does nothing.
// Always inlined, as gcc leaves out a call of what has no result and writes nothing.
static inline __attribute__((always_inline)) void ask_ahead(
    const float *b, int64_t down, int64_t along, int64_t depth, int64_t from, int64_t to, int64_t whole) {
    int64_t lines = depth * ACROSS;
    for (int64_t l = lines * from / whole; l < lines * to / whole; l++)
        __builtin_prefetch(
            along == 1 ? b + l / ACROSS * down + l % ACROSS * LINE : b + l % COLUMNS * along + l / COLUMNS * LINE * down);
}

// The same of A, tile by tile. Where numbers of a row lie a power of two apart, as in the gradient of a weight, most of them
// fall into the same few lines of the cache, and would be fetched for every panel anew.
static void pack_rows(const float *a, int64_t down, int64_t along, int64_t rows, int64_t depth, float *packed) {
    enum { FEW = 8 };  // lines read side by side: they and what is written fit into any cache
    for (int64_t few = 0; few < depth; few += FEW)
        for (int64_t i = 0; i < rows; i += ROWS)
            for (int64_t p = few; p < few + FEW && p < depth; p++) {
                float *to = packed + i * depth + p * ROWS;
                const float *from = a + i * down + p * along;
                __builtin_prefetch(from + FEW * along);  // of the lines that come after these
                if (down == 1 && rows - i >= ROWS) memcpy(to, from, ROWS * sizeof(float));
                else for (int64_t r = 0; r < ROWS && r < rows - i; r++) to[r] = from[r * down];
            }
}

// Rows `first` to `last` of C [., columns], each `c_down` after the one before. A is [., inner] and B is [inner, columns];
// A(i, p) is at a[i * a_down + p * a_along], and B alike. `bias`, a number for each column, may be NULL; where it is C, the
// product is added to what that holds. Each row of C may be written up to `room`.
void float32_product(
    const float *a, int64_t a_down, int64_t a_along, const float *b, int64_t b_down, int64_t b_along, const float *bias,
    float *c, int64_t c_down, int64_t first, int64_t last, int64_t inner, int64_t columns,
    int64_t room) {
    float panel[DEPTH * COLUMNS] __attribute__((aligned(64))), edge[ROWS * COLUMNS], start[COLUMNS];
    // Even blocks: for a last one of few rows every panel would be copied as for many.
    int64_t blocks = last > first ? (last - first + BLOCK - 1) / BLOCK : 1;
    int64_t even = ((last - first + blocks - 1) / blocks + ROWS - 1) / ROWS * ROWS;
    float *packed = a_along == 1 ? NULL : malloc(even * DEPTH * sizeof(float));  // without it, slower
    for (int64_t block = first; block < last; block += even)
        for (int64_t p = 0; p < inner || p == 0; p += DEPTH) {
            int64_t depth = inner - p < DEPTH ? inner - p : DEPTH, here = last - block < even ? last - block : even;
            const float *of = a + block * a_down + p * a_along;
            int64_t down = packed ? 1 : a_down, along = packed ? ROWS : a_along;
            int64_t on = p || bias == c;
            if (packed) pack_rows(of, a_down, a_along, here, depth, packed);
            for (int64_t j = 0; j < columns; j += COLUMNS) {
                int64_t width = columns - j < COLUMNS ? columns - j : COLUMNS;
                const float *next =
                    j + width < columns ? b + p * b_down + (j + width) * b_along : b + (p + depth) * b_down;
                pack(b + p * b_down + j * b_along, b_down, b_along, depth, width, panel);
                memset(start, 0, sizeof start);
                if (bias) memcpy(start, bias + j, width * sizeof(float));
                for (int64_t i = 0; i < here; i += ROWS) {
                    int rows = here - i < ROWS ? (int)(here - i) : ROWS;
                    float *out = c + (block + i) * c_down + j;
                    const float *from = packed ? packed + i * depth : of + i * a_down;
                    ask_ahead(next, b_down, b_along, depth, i, i + rows, here);
                    if (j + COLUMNS <= room) {
                        tiles(rows, from, down, along, panel, depth, out, c_down, on ? out : start, on ? c_down : 0);
                        continue;
                    }
                    for (int r = 0; on && r < rows; r++) memcpy(edge + r * COLUMNS, out + r * c_down, width * sizeof(float));
                    tiles(rows, from, down, along, panel, depth, edge, COLUMNS, on ? edge : start, on ? COLUMNS : 0);
                    for (int r = 0; r < rows; r++) memcpy(out + r * c_down, edge + r * COLUMNS, width * sizeof(float));
                }
            }
        }
    free(packed);
}
