/*
 * A joint's local transform from its channels, for every kind of channel a rig may have.
 */
#ifndef KINEPACK_WAVELET_RIG_H
#define KINEPACK_WAVELET_RIG_H

#include "include/kinepack_kernels.h"
#include "sincos.h"

static inline void kp_multiply3(double *restrict out, const double *restrict a, const double *restrict b)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[c] + a[3 * r + 1] * b[3 + c] + a[3 * r + 2] * b[6 + c];
}

static inline void kp_multiply3_transposed(double *restrict out, const double *restrict a, const double *restrict b)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[3 * c] + a[3 * r + 1] * b[3 * c + 1] + a[3 * r + 2] * b[3 * c + 2];
}

static inline void kp_turn3(double *m, int32_t axis, double sine, double cosine)
{
    int p = axis == 2 ? 0 : axis + 1, q = axis == 0 ? 2 : axis - 1;
    for (int r = 0; r < 9; r += 3) {
        double a = m[r + p], b = m[r + q];
        m[r + p] = a * cosine + b * sine;
        m[r + q] = b * cosine - a * sine;
    }
}

/* Newton's iteration from a halved exponent: freestanding code has no library root. */
static inline double kp_root(double x)
{
    kp_double_bits guess;
    if (!(x > 0))
        return 0.0;
    guess.f = x;
    guess.u = (guess.u >> 1) + (UINT64_C(1023) << 51);
    for (int i = 0; i < 5; i++)
        guess.f = 0.5 * (guess.f + x / guess.f);
    return guess.f;
}

/* A quaternion of any length but zero; the zero quaternion turns nothing. */
static inline void kp_quaternion_matrix(double *m, double x, double y, double z, double w)
{
    double norm = x * x + y * y + z * z + w * w, s = norm > 0 ? 2.0 / norm : 0.0;
    m[0] = 1 - s * (y * y + z * z), m[1] = s * (x * y - w * z), m[2] = s * (x * z + w * y);
    m[3] = s * (x * y + w * z), m[4] = 1 - s * (x * x + z * z), m[5] = s * (y * z - w * x);
    m[6] = s * (x * z - w * y), m[7] = s * (y * z + w * x), m[8] = 1 - s * (x * x + y * y);
}

/* One frame's values with one channel replaced. */
typedef struct {
    const double *values;
    int32_t channel;
    double value;
} kp_row;

static inline double kp_of(const kp_row *row, int32_t channel)
{
    return channel == row->channel ? row->value : row->values[channel];
}

static inline int kp_rotation(const kp_rig *rig, size_t j, const kp_row *row, double *m)
{
    const int32_t *axis = rig->axis_channel + 3 * j, *q = rig->quaternion_channel + 4 * j;
    const int32_t *v = rig->rotvec_channel + 3 * j;
    double sine, cosine;
    if (axis[0] >= 0) {
        for (int i = 0; i < 9; i++)
            m[i] = i % 4 == 0;
        for (int k = 0; k < 3 && axis[k] >= 0; k++) {
            kp_sincos_one(kp_of(row, axis[k]) * rig->angle_scale, &sine, &cosine);
            kp_turn3(m, rig->axis_id[3 * j + (size_t)k], sine, cosine);
        }
        return 1;
    }
    if (q[0] >= 0) {
        kp_quaternion_matrix(m, kp_of(row, q[0]), kp_of(row, q[1]), kp_of(row, q[2]), kp_of(row, q[3]));
        return 1;
    }
    if (v[0] >= 0) {
        double x = kp_of(row, v[0]), y = kp_of(row, v[1]), z = kp_of(row, v[2]), angle = kp_root(x * x + y * y + z * z);
        kp_sincos_one(0.5 * angle, &sine, &cosine);
        double s = angle > 0 ? sine / angle : 0.5;
        kp_quaternion_matrix(m, s * x, s * y, s * z, cosine);
        return 1;
    }
    return 0;
}

/* linear[9] = C M C^T S and shift[3], as in kinepack.model.skeleton. */
static inline void kp_local(const kp_rig *rig, size_t j, const kp_row *row, double *linear, double *shift)
{
    double m[9], cm[9];
    if (kp_rotation(rig, j, row, m)) {
        kp_multiply3(cm, rig->frame + 9 * j, m);
        kp_multiply3_transposed(linear, cm, rig->frame + 9 * j);
    } else {
        for (int i = 0; i < 9; i++)
            linear[i] = rig->rest[9 * j + (size_t)i];
    }
    for (size_t k = 0; k < 3; k++) {
        int32_t t = rig->translation_channel[3 * j + k], s = rig->scale_channel[3 * j + k];
        double offset = rig->offsets[3 * j + k], scale = s >= 0 ? kp_of(row, s) : rig->rest_scale[3 * j + k];
        shift[k] = t < 0 ? offset : rig->adds_translation ? offset + kp_of(row, t) : kp_of(row, t);
        for (size_t r = 0; r < 9; r += 3)
            linear[r + k] *= scale;
    }
}

#endif
