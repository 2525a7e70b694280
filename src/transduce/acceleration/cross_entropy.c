// The loss over the vocabulary and its gradient, row by row while a row is in the first cache.

#include "native.h"

// `table` [rows, size] comes with logits and goes with d loss / d logits = p - q, where q has `smoothing` spread evenly and
// the rest on the expected token. `losses` are -sum q log p. A row that expects `padding` has 0 everywhere.
void cross_entropy_rows(
    float *table, int64_t rows, int64_t size, const int64_t *expected, int64_t padding, double smoothing, double *losses) {
    int64_t even = size - size % LANES;
    for (int64_t r = 0; r < rows; r++) {
        float *x = table + r * size;
        int64_t y = expected[r];
        if (y == padding) {
            memset(x, 0, size * sizeof(float));
            losses[r] = 0;
            continue;
        }
        float most = greatest_of(x, size), of_expected = x[y] - most;
        floats sums = {0}, totals = {0};
        for (int64_t i = 0; i < even; i += LANES) {
            floats below = load_floats(x + i) - most, e = exp_of(below);
            totals += below, sums += e;
            store_floats(x + i, e);
        }
        float sum = sum_of(sums), total = sum_of(totals);
        for (int64_t i = even; i < size; i++) {
            float below = x[i] - most;
            total += below, sum += x[i] = expf(below);
        }
        losses[r] = logf(sum) - (1 - smoothing) * of_expected - smoothing * total / size;
        float scale = 1 / sum, even_part = smoothing / size;
        for (int64_t i = 0; i < size; i++) x[i] = x[i] * scale - even_part;
        x[y] -= 1 - smoothing;
    }
}
