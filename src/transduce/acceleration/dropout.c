// Dropout and its gradient, each in one pass.

#include "native.h"

// Numbers `first` to `last` of y = onto + x / (1 - rate) where a draw of 16 bits is at least `least`, else onto + 0 x;
// `kept` says where. Without `onto`, nothing is added.
void dropout_forward(
    const float *x, const int16_t *draws, int64_t least, double scale, const float *onto, float *y, uint8_t *kept,
    int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
        kept[i] = draws[i] >= (int16_t)least;
        float made = x[i] * (draws[i] >= (int16_t)least ? (float)scale : 0.0f);
        y[i] = onto ? onto[i] + made : made;
    }
}

void dropout_backward(const float *d_y, const uint8_t *kept, double scale, float *d_x, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) d_x[i] = d_y[i] * (kept[i] ? (float)scale : 0.0f);
}
