// A Transformer (paper, figure 1) for sentences that are translated: its encoder, and one step of its decoder for the rows of
// a beam search, embedding to logits.
//
// The encoder takes the tokens of all sentences in a row, without padding. In the decoder keys and values of each token of
// each hypothesis are written once, to a slot of their own, and stay; a row's own past is a list of slots, so that nothing
// is moved when beams change places.

#include <stdlib.h>

#include "native.h"

typedef struct { const float *gain, *bias; float epsilon; } norm;

enum { NONE, PRE, POST };
enum { RELU, GELU, SWIGLU };
enum { SELF, CROSS, INNER };  // the sub-layers; the encoder has no cross-attention

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
} stack;

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

// What the rows of an encoder are: token, place in its sentence, the sentence's first row and its length.
typedef struct {
    const int64_t *tokens, *places, *starts, *lengths;
    const float *positions;
} text;

enum { ROWS = 128 };  // that go through all layers together, so that they stay in the cache

typedef struct {
    float *x, *y, *in, *out, *gate, *heads, *scores;
    const float **keys, **values;
    void *quantised, *memory;
} work;

static void apply(const affine *map, const float *x, int64_t rows, float *y, const work *w) {
    if (map->scales)
        int8_linear(x, rows, map->inputs, map->weights, map->scales, map->totals, map->bias, map->outputs, y,
                    w->quantised);
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

// Of one head, its query against n keys.
static void scores_of(const float *q, const float *const *keys, int64_t at, int64_t width, int64_t n, float *scores) {
    int64_t even = width - width % LANES;
    for (int64_t j = 0; j < n; j++) {
        const float *k = keys[j] + at;
        floats sums = {0};
        for (int64_t i = 0; i < even; i += LANES) sums += load_floats(q + i) * load_floats(k + i);
        float sum = sum_of(sums);
        for (int64_t i = even; i < width; i++) sum += q[i] * k[i];
        scores[j] = sum;
    }
}

// `vectors` of the weighted sum of n values, which stay in registers: it is a constant wherever this is inlined.
static inline __attribute__((always_inline)) void mix(
    int vectors, const float *weights, const float *const *values, int64_t at, int64_t n, float *out) {
    floats sums[4];
    for (int v = 0; v < vectors; v++) sums[v] = (floats){0};
    for (int64_t j = 0; j < n; j++)
        for (int v = 0; v < vectors; v++) sums[v] += load_floats(values[j] + at + v * LANES) * weights[j];
    for (int v = 0; v < vectors; v++) store_floats(out + v * LANES, sums[v]);
}

static void mix_head(const float *weights, const float *const *values, int64_t at, int64_t width, int64_t n, float *out) {
    int64_t i = 0;
    for (; i + 4 * LANES <= width; i += 4 * LANES) mix(4, weights, values, at + i, n, out + i);
    for (; i + LANES <= width; i += LANES) mix(1, weights, values, at + i, n, out + i);
    for (; i < width; i++) {
        float sum = 0;
        for (int64_t j = 0; j < n; j++) sum += weights[j] * values[j][at + i];
        out[i] = sum;
    }
}

// One row: softmax(q k / sqrt(d_k)) v in every head, over the n places that w->keys and w->values name.
static void attend(const stack *d, const float *q, int64_t n, float *out, const work *w) {
    float *scores = w->scores, scale = 1 / sqrtf((float)d->d_k);
    for (int64_t h = 0; h < d->heads; h++, q += d->d_k, out += d->d_v) {
        scores_of(q, w->keys, h * d->d_k, d->d_k, n, scores);
        float most = greatest_of(scores, n), sum = 0;
        for (int64_t j = 0; j < n; j += LANES) store_floats(scores + j, exp_of((load_floats(scores + j) - most) * scale));
        for (int64_t j = 0; j < n; j++) sum += scores[j];
        for (int64_t j = 0; j < n; j++) scores[j] /= sum;
        mix_head(scores, w->values, h * d->d_v, d->d_v, n, out);
    }
}

static void self_attention(
    const stack *d, const layer *l, const past *p, const situation *s, int64_t first, int64_t rows, const float *x,
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
    const stack *d, const layer *l, const past *p, const situation *s, int64_t first, int64_t rows, const float *x,
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

static void feed_forward(const stack *d, const layer *l, int64_t rows, const float *x, float *y, const work *w) {
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

// Around every sub-layer: its input made of the stream w->x, and its output w->y made part of the stream.
static const float *before(int which, const stack *d, const layer *l, int64_t rows, const work *w) {
    if (d->norm_place != PRE) return w->x;
    normalise(&l->norms[which], w->x, rows, d->width, w->out);
    return w->out;
}

static void after(int which, const stack *d, const layer *l, int64_t rows, const work *w) {
    int64_t n = rows * d->width;
    if (d->residual)
        for (int64_t i = 0; i < n; i++) w->y[i] += w->x[i];
    if (d->norm_place == POST) normalise(&l->norms[which], w->y, rows, d->width, w->x);
    else memcpy(w->x, w->y, n * sizeof(float));
}

static void embed(const stack *d, int64_t token, const float *position, float *x) {
    const float *vector = d->embedding + token * d->width;
    for (int64_t i = 0; i < d->width; i++) x[i] = vector[i] * d->scale + position[i];
}

static void some_rows(const stack *d, const situation *s, int64_t first, int64_t rows, float *logits, const work *w) {
    for (int64_t r = 0; r < rows; r++) embed(d, s->previous[first + r], s->position, w->x + r * d->width);
    for (int64_t i = 0; i < d->depth; i++) {
        const layer *l = d->layers + i;
        self_attention(d, l, s->pasts + i, s, first, rows, before(SELF, d, l, rows, w), w->y, w);
        after(SELF, d, l, rows, w);
        cross_attention(d, l, s->pasts + i, s, first, rows, before(CROSS, d, l, rows, w), w->y, w);
        after(CROSS, d, l, rows, w);
        feed_forward(d, l, rows, before(INNER, d, l, rows, w), w->y, w);
        after(INNER, d, l, rows, w);
    }
    const float *x = w->x;
    if (d->last.gain) normalise(&d->last, w->x, rows, d->width, w->y), x = w->y;
    apply(&d->projection, x, rows, logits, w);
}

static void both_sides(
    const stack *d, const layer *l, const text *t, int64_t first, int64_t rows, const float *x, float *y, const work *w) {
    int64_t k = d->heads * d->d_k, v = d->heads * d->d_v, wide = 2 * k + v;
    apply(&l->self_in, x, rows, w->in, w);
    for (int64_t r = 0; r < rows; r++) {
        const float *sentence = w->in + (t->starts[first + r] - first) * wide;
        int64_t n = t->lengths[first + r];
        for (int64_t j = 0; j < n; j++) w->keys[j] = sentence + j * wide + k, w->values[j] = w->keys[j] + k;
        attend(d, w->in + r * wide, n, w->heads + r * v, w);
    }
    apply(&l->self_out, w->heads, rows, y, w);
}

static void some_sentences(const stack *d, const text *t, int64_t first, int64_t rows, float *states, const work *w) {
    for (int64_t r = first; r < first + rows; r++)
        embed(d, t->tokens[r], t->positions + t->places[r] * d->width, w->x + (r - first) * d->width);
    for (int64_t i = 0; i < d->depth; i++) {
        const layer *l = d->layers + i;
        both_sides(d, l, t, first, rows, before(SELF, d, l, rows, w), w->y, w);
        after(SELF, d, l, rows, w);
        feed_forward(d, l, rows, before(INNER, d, l, rows, w), w->y, w);
        after(INNER, d, l, rows, w);
    }
    if (d->last.gain) normalise(&d->last, w->x, rows, d->width, states);
    else memcpy(states, w->x, rows * d->width * sizeof(float));
}

static int64_t most_of(int64_t a, int64_t b) { return a > b ? a : b; }

// Room for `size` bytes, on a line of the cache.
static char *take(char **at, int64_t size) {
    char *taken = *at;
    *at += (size + 63) / 64 * 64;
    return taken;
}

// What `rows` rows need, each looking at `places` others at most; w->memory is to be freed, and NULL where memory ran out.
static work make_room(const stack *d, int64_t rows, int64_t places) {
    int64_t wide = most_of(d->heads * (2 * d->d_k + d->d_v), d->d_ff);
    int64_t inputs = most_of(d->width, most_of(d->heads * d->d_v, d->d_ff));
    places += LANES;
    int64_t sizes[] = {
        rows * d->width * 4, rows * d->width * 4, rows * d->width * 4, rows * wide * 4, rows * d->d_ff * 4,
        rows * d->heads * d->d_v * 4, places * 4, places * 8, places * 8, rows * int8_row_bytes(inputs)};
    int64_t all = 64;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) all += (sizes[i] + 63) / 64 * 64;
    work w = {.memory = malloc(all)};
    if (!w.memory) return w;
    char *at = (char *)w.memory + (64 - (uintptr_t)w.memory % 64) % 64;
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
    return w;
}

// Rows `first` to `last` of a step and of `logits` [all rows, vocabulary]. Returns 0, or 1 where memory ran out.
int decoder_step(const stack *d, const situation *s, int64_t first, int64_t last, float *logits) {
    work w = make_room(d, last - first < ROWS ? last - first : ROWS, most_of(s->seen, s->longest));
    if (!w.memory) return 1;
    for (int64_t r = first; r < last; r += ROWS) {
        int64_t here = last - r < ROWS ? last - r : ROWS;
        some_rows(d, s, r, here, logits + r * d->projection.outputs, &w);
    }
    free(w.memory);
    return 0;
}

// Rows `first` to `last` of a text, whole sentences, and of `states` [all rows, width]. Returns as above.
int encoder_run(const stack *d, const text *t, int64_t first, int64_t last, float *states) {
    int64_t longest = 0;
    for (int64_t r = first; r < last; r++) longest = most_of(longest, t->lengths[r]);
    work w = make_room(d, most_of(longest, last - first < ROWS ? last - first : ROWS), longest);
    if (!w.memory) return 1;
    for (int64_t r = first, end; r < last; r = end) {
        end = r + t->lengths[r];
        while (end < last && end + t->lengths[end] - r <= ROWS) end += t->lengths[end];
        some_sentences(d, t, r, end - r, states + r * d->width, &w);
    }
    free(w.memory);
    return 0;
}
