// Over the vocabulary: the log-probabilities of each row, and its best tokens.

#include "native.h"

// In place. A row with something that is not a number becomes that altogether.
void log_softmax_rows(float *table, int64_t rows, int64_t size) {
    int64_t even = size - size % LANES;
    for (int64_t r = 0; r < rows; r++) {
        float *x = table + r * size, most = greatest_of(x, size);
        floats sums = {0};
        for (int64_t i = 0; i < even; i += LANES) sums += exp_of(load_floats(x + i) - most);
        float sum = sum_of(sums);
        for (int64_t i = even; i < size; i++) sum += expf(x[i] - most);
        float log_sum = logf(sum);
        for (int64_t i = 0; i < size; i++) x[i] = x[i] - most - log_sum;
    }
}

static inline void offer(double *values, int64_t *ids, int64_t width, float value, int64_t id) {
    int64_t at = width - 1;
    for (; at > 0 && values[at - 1] < value; at--) values[at] = values[at - 1], ids[at] = ids[at - 1];
    values[at] = value, ids[at] = id;
}

// The `width` best of each row, best first, the lower id first among equals; places that nothing above -infinity fills
// have -infinity. Where something is not a number, the first value is not one.
void best_of_rows(const float *table, int64_t rows, int64_t size, int64_t width, double *values, int64_t *ids) {
    int64_t even = size - size % LANES;
    for (int64_t r = 0; r < rows; r++, values += width, ids += width) {
        const float *x = table + r * size;
        for (int64_t i = 0; i < width; i++) values[i] = -INFINITY, ids[i] = 0;
        float least = -INFINITY;
        int wrong = 0;
        for (int64_t i = 0; i < even; i += LANES) {
            floats v = load_floats(x + i);
            whole found = ~(v <= (floats){0} + least);
            int64_t parts[sizeof found / 8], any = 0;
            memcpy(parts, &found, sizeof found);
            for (int p = 0; p < (int)(sizeof found / 8); p++) any |= parts[p];
            if (!any) continue;
            for (int l = 0; l < LANES; l++) {
                wrong |= x[i + l] != x[i + l];
                if (x[i + l] > least) offer(values, ids, width, x[i + l], i + l), least = (float)values[width - 1];
            }
        }
        for (int64_t i = even; i < size; i++) {
            wrong |= x[i] != x[i];
            if (x[i] > least) offer(values, ids, width, x[i], i), least = (float)values[width - 1];
        }
        if (wrong) values[0] = NAN;
    }
}
