// One step of a Transformer's decoder (paper, figure 1, right) for the rows of a beam search, embedding to logits.
//
// Keys and values of each token of each hypothesis are written once, to a slot of their own, and stay; a row's own past is
// a list of slots, so that nothing is moved when beams change places.

#include <stdlib.h>

#include "native.h"

typedef struct { const float *gain, *bias; float epsilon; } norm;

enum { NONE, PRE, POST };
enum { RELU, GELU, SWIGLU };
enum { SELF, CROSS, INNER };  // the sub-layers

typedef struct {
    affine self_in, self_out, cross_in, cross_out, inner, gate, outer;
    norm norms[3];
} layer;

typedef struct {
    const float *embedding;
    const layer *layers;
    affine projection;
    norm last;
    float scale;
    int32_t norm_place, residual, activation;
    int64_t depth, width, heads, d_k, d_v, d_ff;
} decoder;

// Of one layer, what belongs to the sentences at hand.
typedef struct {
    float *keys, *values;  // by slot
    const float *memory_keys, *memory_values;  // by sentence and position
} past;

typedef struct {
    int64_t rows, seen, longest, stride;
    const int64_t *previous, *sentences, *lengths, *slots;
    const float *position;
    const past *pasts;
} situation;

enum { ROWS = 128 };  // that go through all layers together, so that they stay in the cache

typedef struct {
    float *x, *y, *in, *out, *gate, *heads, *scores;
    const float **keys, **values;
    void *quantised;
    float *row_scales;
} work;

static void apply(const affine *map, const float *x, int64_t rows, float *y, const work *w) {
    if (map->scales)
        int8_linear(x, rows, map->inputs, map->weights, map->scales, map->shifts, map->bias, map->outputs, y,
                    w->quantised, w->row_scales);
    else
        float32_linear(map, x, rows, y);
}

static void normalise(const norm *n, const float *x, int64_t rows, int64_t width, float *y) {
    for (int64_t r = 0; r < rows; r++, x += width, y += width) {
        float mean = 0, variance = 0;
        int64_t even = width - width % LANES;
        floats sums = {0};
        for (int64_t i = 0; i < even; i += LANES) sums += load_floats(x + i);
        mean = sum_of(sums);
        for (int64_t i = even; i < width; i++) mean += x[i];
        mean /= width;
        sums = (floats){0};
        for (int64_t i = 0; i < even; i += LANES) {
            floats off = load_floats(x + i) - mean;
            sums += off * off;
        }
        variance = sum_of(sums);
        for (int64_t i = even; i < width; i++) variance += (x[i] - mean) * (x[i] - mean);
        float factor = 1 / sqrtf(variance / width + n->epsilon);
        for (int64_t i = 0; i < width; i++) y[i] = (x[i] - mean) * factor * n->gain[i] + n->bias[i];
    }
}

static float dot(const float *a, const float *b, int64_t n) {
    floats sums = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) sums += load_floats(a + i) * load_floats(b + i);
    float sum = sum_of(sums);
    for (; i < n; i++) sum += a[i] * b[i];
    return sum;
}

// One row: softmax(q k / sqrt(d_k)) v in every head, over the n places that w->keys and w->values name.
static void attend(const decoder *d, const float *q, int64_t n, float *out, const work *w) {
    float *scores = w->scores, scale = 1 / sqrtf((float)d->d_k);
    memset(out, 0, d->heads * d->d_v * sizeof(float));
    for (int64_t h = 0; h < d->heads && n > 0; h++, q += d->d_k, out += d->d_v) {
        float most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < n; j++) {
            scores[j] = dot(q, w->keys[j] + h * d->d_k, d->d_k) * scale;
            most = scores[j] > most ? scores[j] : most;
        }
        int64_t j = 0;
        for (; j < n; j += LANES) store_floats(scores + j, exp_of(load_floats(scores + j) - most));
        for (j = 0; j < n; j++) sum += scores[j];
        for (j = 0; j < n; j++) {
            float weight = scores[j] / sum;
            const float *v = w->values[j] + h * d->d_v;
            for (int64_t i = 0; i < d->d_v; i++) out[i] += weight * v[i];
        }
    }
}

static void self_attention(
    const decoder *d, const layer *l, const past *p, const situation *s, int64_t first, int64_t rows, const float *x,
    float *y, const work *w) {
    int64_t k = d->heads * d->d_k, v = d->heads * d->d_v, wide = 2 * k + v;
    apply(&l->self_in, x, rows, w->in, w);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t *slots = s->slots + (first + r) * s->seen;
        int64_t own = slots[s->seen - 1];
        memcpy(p->keys + own * k, w->in + r * wide + k, k * sizeof(float));
        memcpy(p->values + own * v, w->in + r * wide + 2 * k, v * sizeof(float));
        for (int64_t j = 0; j < s->seen; j++) w->keys[j] = p->keys + slots[j] * k, w->values[j] = p->values + slots[j] * v;
        attend(d, w->in + r * wide, s->seen, w->heads + r * v, w);
    }
    apply(&l->self_out, w->heads, rows, y, w);
}

static void cross_attention(
    const decoder *d, const layer *l, const past *p, const situation *s, int64_t first, int64_t rows, const float *x,
    float *y, const work *w) {
    apply(&l->cross_in, x, rows, w->in, w);
    for (int64_t r = 0; r < rows; r++) {
        int64_t sentence = s->sentences[first + r], n = s->lengths[sentence];
        for (int64_t j = 0; j < n; j++) {
            int64_t at = (sentence * s->longest + j) * s->stride;
            w->keys[j] = p->memory_keys + at, w->values[j] = p->memory_values + at;
        }
        attend(d, w->in + r * d->heads * d->d_k, n, w->heads + r * d->heads * d->d_v, w);
    }
    apply(&l->cross_out, w->heads, rows, y, w);
}

static void feed_forward(const decoder *d, const layer *l, int64_t rows, const float *x, float *y, const work *w) {
    int64_t n = rows * d->d_ff;
    float *inner = w->in;
    apply(&l->inner, x, rows, inner, w);
    if (d->activation == RELU)
        for (int64_t i = 0; i < n; i++) inner[i] = inner[i] > 0 ? inner[i] : (inner[i] == inner[i] ? 0 : inner[i]);
    if (d->activation == GELU)
        for (int64_t i = 0; i < n; i++) inner[i] = inner[i] * 0.5f * (1 + erff(inner[i] * 0.70710678f));
    if (d->activation == SWIGLU) {
        apply(&l->gate, x, rows, w->gate, w);
        for (int64_t i = 0; i < n; i++) inner[i] = inner[i] / (1 + expf(-inner[i])) * w->gate[i];
    }
    apply(&l->outer, inner, rows, y, w);
}

static void sublayer(
    int which, const decoder *d, const layer *l, const past *p, const situation *s, int64_t first, int64_t rows,
    const work *w) {
    int64_t n = rows * d->width;
    const float *x = w->x;
    if (d->norm_place == PRE) normalise(&l->norms[which], w->x, rows, d->width, w->out), x = w->out;
    if (which == SELF) self_attention(d, l, p, s, first, rows, x, w->y, w);
    if (which == CROSS) cross_attention(d, l, p, s, first, rows, x, w->y, w);
    if (which == INNER) feed_forward(d, l, rows, x, w->y, w);
    if (d->residual)
        for (int64_t i = 0; i < n; i++) w->y[i] += w->x[i];
    if (d->norm_place == POST) normalise(&l->norms[which], w->y, rows, d->width, w->x);
    else memcpy(w->x, w->y, n * sizeof(float));
}

static void some_rows(const decoder *d, const situation *s, int64_t first, int64_t rows, float *logits, const work *w) {
    for (int64_t r = 0; r < rows; r++) {
        const float *vector = d->embedding + s->previous[first + r] * d->width;
        for (int64_t i = 0; i < d->width; i++) w->x[r * d->width + i] = vector[i] * d->scale + s->position[i];
    }
    for (int64_t i = 0; i < d->depth; i++)
        for (int which = SELF; which <= INNER; which++)
            sublayer(which, d, d->layers + i, s->pasts + i, s, first, rows, w);
    const float *x = w->x;
    if (d->last.gain) normalise(&d->last, w->x, rows, d->width, w->y), x = w->y;
    apply(&d->projection, x, rows, logits, w);
}

static int64_t most_of(int64_t a, int64_t b) { return a > b ? a : b; }

// Room for `size` bytes, on a line of the cache.
static char *take(char **at, int64_t size) {
    char *taken = *at;
    *at += (size + 63) / 64 * 64;
    return taken;
}

// Rows `first` to `last` of a step and of `logits` [all rows, vocabulary]. Returns 0, or 1 where memory ran out.
int decoder_step(const decoder *d, const situation *s, int64_t first, int64_t last, float *logits) {
    int64_t rows = last - first < ROWS ? last - first : ROWS;
    int64_t wide = most_of(d->heads * (2 * d->d_k + d->d_v), d->d_ff), places = most_of(s->seen, s->longest) + LANES;
    int64_t inputs = most_of(d->width, most_of(d->heads * d->d_v, d->d_ff));
    int64_t sizes[] = {
        rows * d->width * 4, rows * d->width * 4, rows * d->width * 4, rows * wide * 4, rows * d->d_ff * 4,
        rows * d->heads * d->d_v * 4, places * 4, places * 8, places * 8, rows * int8_row_bytes(inputs), rows * 4};
    int64_t all = 64;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) all += (sizes[i] + 63) / 64 * 64;
    char *memory = malloc(all), *at = memory;
    if (!memory) return 1;
    at += (64 - (uintptr_t)at % 64) % 64;
    work w;
    w.x = (float *)take(&at, sizes[0]);
    w.y = (float *)take(&at, sizes[1]);
    w.out = (float *)take(&at, sizes[2]);
    w.in = (float *)take(&at, sizes[3]);
    w.gate = (float *)take(&at, sizes[4]);
    w.heads = (float *)take(&at, sizes[5]);
    w.scores = (float *)take(&at, sizes[6]);
    w.keys = (const float **)take(&at, sizes[7]);
    w.values = (const float **)take(&at, sizes[8]);
    w.quantised = take(&at, sizes[9]);
    w.row_scales = (float *)take(&at, sizes[10]);
    for (int64_t r = first; r < last; r += ROWS) {
        int64_t here = last - r < ROWS ? last - r : ROWS;
        some_rows(d, s, r, here, logits + r * d->projection.outputs, &w);
    }
    free(memory);
    return 0;
}
