// Dropout and its gradient, each in one pass.

#include "native.h"

// Numbers `first` to `last` of y = x / (1 - rate) where a draw of 16 bits is at least `least`, else 0 x; `kept` says where.
void dropout_forward(
    const float *x, const int16_t *draws, int64_t least, double scale, float *y, uint8_t *kept, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
        kept[i] = draws[i] >= (int16_t)least;
        y[i] = x[i] * (draws[i] >= (int16_t)least ? (float)scale : 0.0f);
    }
}

void dropout_backward(const float *d_y, const uint8_t *kept, double scale, float *d_x, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) d_x[i] = d_y[i] * (kept[i] ? (float)scale : 0.0f);
}
