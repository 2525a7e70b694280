// softmax(Q K^T / sqrt(d_k)) V and its gradients for many short sequences: the table of a head is in the second cache.

#include "native.h"
#include <stdlib.h>

// A tensor [batch, heads, places, width]: number (b, h, i, p) is at x[b * batch + h * head + i * place + p].
typedef struct {
    float *x;
    int64_t batch, head, place;
} tensor;

typedef struct {
    int64_t heads, queries, keys, d_k, d_v;
    tensor q, k, v, out, d_out, d_q, d_keys, d_values;
    const uint8_t *seen;  // [batch, keys], 1 where a key may be seen; NULL where all may
    float *log_sums;      // [batch, heads, queries], from forward to backward; infinity where a query sees no key
    int64_t causal;
} attention;

// Room for a head: rows of the tables are filled up to whole vectors with keys that nobody sees.
typedef struct {
    int64_t width;
    float *p, *d;    // tables [queries, width]
    float *hidden;   // what is added to a row of scores: 0, or -infinity where a key is hidden
} work;

static inline float *of_head(const tensor *t, int64_t b, int64_t h) { return t->x + b * t->batch + h * t->head; }

static work make_room(const attention *a) {
    work w = {.width = (a->keys + COLUMNS - 1) / COLUMNS * COLUMNS};
    int64_t table = a->queries * w.width, hidden = w.width + a->queries;
    w.p = malloc((2 * table + hidden) * sizeof(float));
    if (!w.p) return w;
    w.d = w.p + table, w.hidden = w.d + table;
    // A query that sees keys up to its own place reads this from that place on.
    for (int64_t j = 0; j < hidden; j++) w.hidden[j] = a->causal && j >= a->queries ? -INFINITY : 0;
    return w;
}

static void hide(const attention *a, work *w, int64_t b) {
    for (int64_t j = 0; j < w->width && !a->causal; j++)
        w->hidden[j] = j < a->keys && (!a->seen || a->seen[b * a->keys + j]) ? 0 : -INFINITY;
}

static inline const float *hidden_from(const attention *a, const work *w, int64_t i) {
    return w->hidden + (a->causal ? a->queries - 1 - i : 0);
}

static void product_of_keys(const attention *a, const work *w, const tensor *x, const tensor *y, int64_t b, int64_t h,
                            int64_t depth, float *table) {
    float32_product(
        of_head(x, b, h), x->place, 1, of_head(y, b, h), 1, y->place, NULL, table, w->width, 0, a->queries, depth, a->keys,
        w->width);
}

// e^(score - below) in the place of a row of products; 0 where a key is hidden. Returns the sum.
static inline float exponentials(float *row, const float *hidden, int64_t width, float scale, float below) {
    floats sums = {0};
    for (int64_t j = 0; j < width; j += LANES) {
        floats v = load_floats(row + j) * scale + load_floats(hidden + j);
        whole shown = v != (floats){0} - INFINITY;
        v = (floats)((whole)exp_of(v - below) & shown);
        sums += v;
        store_floats(row + j, v);
    }
    return sum_of(sums);
}

static inline float greatest_score(const float *row, const float *hidden, int64_t width, float scale) {
    floats top = (floats){0} - INFINITY;
    for (int64_t j = 0; j < width; j += LANES) top = greater(load_floats(row + j) * scale + load_floats(hidden + j), top);
    return greatest_of((float *)&top, LANES);
}

static void forward(const attention *a, const work *w, int64_t b, int64_t h, float scale) {
    product_of_keys(a, w, &a->q, &a->k, b, h, a->d_k, w->p);
    for (int64_t i = 0; i < a->queries; i++) {
        float *row = w->p + i * w->width, most = greatest_score(row, hidden_from(a, w, i), w->width, scale);
        float sum = exponentials(row, hidden_from(a, w, i), w->width, scale, most == -INFINITY ? 0 : most);
        float share = sum == 0 ? 0 : 1 / sum;
        for (int64_t j = 0; j < w->width; j++) row[j] *= share;
        a->log_sums[(b * a->heads + h) * a->queries + i] = sum == 0 ? INFINITY : most + logf(sum);
    }
    float32_product(
        w->p, w->width, 1, of_head(&a->v, b, h), a->v.place, 1, NULL, of_head(&a->out, b, h), a->out.place, 0, a->queries,
        a->keys, a->d_v, a->d_v);
}

static void backward(const attention *a, const work *w, int64_t b, int64_t h, float scale) {
    product_of_keys(a, w, &a->q, &a->k, b, h, a->d_k, w->p);
    product_of_keys(a, w, &a->d_out, &a->v, b, h, a->d_v, w->d);
    for (int64_t i = 0; i < a->queries; i++) {
        float *p = w->p + i * w->width, *d = w->d + i * w->width;
        exponentials(p, hidden_from(a, w, i), w->width, scale, a->log_sums[(b * a->heads + h) * a->queries + i]);
        floats sums = {0};
        for (int64_t j = 0; j < w->width; j += LANES) sums += load_floats(p + j) * load_floats(d + j);
        float mean = sum_of(sums);
        for (int64_t j = 0; j < w->width; j++) d[j] = scale * p[j] * (d[j] - mean);
    }
    float32_product(  // P^T dO
        w->p, 1, w->width, of_head(&a->d_out, b, h), a->d_out.place, 1, NULL, of_head(&a->d_values, b, h),
        a->d_values.place, 0, a->keys, a->queries, a->d_v, a->d_v);
    float32_product(
        w->d, w->width, 1, of_head(&a->k, b, h), a->k.place, 1, NULL, of_head(&a->d_q, b, h), a->d_q.place, 0, a->queries,
        a->keys, a->d_k, a->d_k);
    float32_product(
        w->d, 1, w->width, of_head(&a->q, b, h), a->q.place, 1, NULL, of_head(&a->d_keys, b, h), a->d_keys.place, 0, a->keys,
        a->queries, a->d_k, a->d_k);
}

// Every head of the sentences `first` to `last`. Returns 1 where memory is short.
static int each_head(
    const attention *a, int64_t first, int64_t last, void (*of)(const attention *, const work *, int64_t, int64_t, float)) {
    work w = make_room(a);
    if (!w.p) return 1;
    for (int64_t b = first; b < last; b++) {
        hide(a, &w, b);
        for (int64_t h = 0; h < a->heads; h++) of(a, &w, b, h, 1 / sqrtf((float)a->d_k));
    }
    free(w.p);
    return 0;
}

int attention_forward(const attention *a, int64_t first, int64_t last) { return each_head(a, first, last, forward); }
int attention_backward(const attention *a, int64_t first, int64_t last) { return each_head(a, first, last, backward); }
