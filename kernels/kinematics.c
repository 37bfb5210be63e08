/*
 * Rotations from Euler channels, forward kinematics and its derivatives. Row-major 3x3 matrices, column vectors.
 */
#include "include/kinepack_kernels.h"
#include "sincos.h"

#define KP_JOINT_BLOCK 32

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

static inline void copy9(double *restrict out, const double *restrict a)
{
    for (int i = 0; i < 9; i++)
        out[i] = a[i];
}

static inline void multiply(double *restrict out, const double *restrict a, const double *restrict b)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[c] + a[3 * r + 1] * b[3 + c] + a[3 * r + 2] * b[6 + c];
}

static inline void multiply_transposed(double *restrict out, const double *restrict a, const double *restrict b)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[3 * c] + a[3 * r + 1] * b[3 * c + 1] + a[3 * r + 2] * b[3 * c + 2];
}

static inline void transform(double *restrict out, const double *restrict m, const double *restrict v,
                             const double *restrict offset)
{
    for (int r = 0; r < 3; r++)
        out[r] = m[3 * r] * v[0] + m[3 * r + 1] * v[1] + m[3 * r + 2] * v[2] + offset[r];
}

/* m <- m R, R the rotation about coordinate axis `axis`. */
static inline void turn(double *m, int32_t axis, double sine, double cosine)
{
    int p = axis == 2 ? 0 : axis + 1, q = axis == 0 ? 2 : axis - 1;
    for (int r = 0; r < 9; r += 3) {
        double a = m[r + p], b = m[r + q];
        m[r + p] = a * cosine + b * sine;
        m[r + q] = b * cosine - a * sine;
    }
}

static int32_t check_axes(size_t joints, size_t channels, const int32_t *axis_channel, const int32_t *axis_id)
{
    for (size_t i = 0; i < 3 * joints; i++) {
        if (axis_channel[i] < -1 || (axis_channel[i] >= 0 && (size_t)axis_channel[i] >= channels))
            return KP_ARGUMENT;
        if (axis_channel[i] >= 0 && (axis_id[i] < 0 || axis_id[i] > 2))
            return KP_ARGUMENT;
    }
    return KP_OK;
}

static int32_t check_parents(size_t joints, const int32_t *parents)
{
    for (size_t j = 0; j < joints; j++)
        if (parents[j] < -1 || (parents[j] >= 0 && (size_t)parents[j] >= j))
            return KP_ARGUMENT;
    return KP_OK;
}

int32_t kp_sincos(const double *angles, size_t count, double *sines, double *cosines)
{
    for (size_t i = 0; i < count; i++)
        kp_sincos_one(angles[i], sines + i, cosines + i);
    return KP_OK;
}

/* ---- local rotations ------------------------------------------------------------------------------------------- */

static inline int has_channels(const int32_t *axis_channel)
{
    return axis_channel[0] >= 0 || axis_channel[1] >= 0 || axis_channel[2] >= 0;
}

static inline void euler_product(double *m, const int32_t *axis_channel, const int32_t *axis_id, const double *sines,
                                 const double *cosines)
{
    copy9(m, identity);
    for (int k = 0; k < 3; k++)
        if (axis_channel[k] >= 0)
            turn(m, axis_id[k], sines[k], cosines[k]);
}

/* One block of joints of one frame: the angles are gathered first so that their sines are computed as vectors. */
static void rotate_block(size_t first, size_t count, const double *values, double angle_scale,
                         const int32_t *axis_channel, const int32_t *axis_id, const double *frame, const double *rest,
                         double *out)
{
    double angles[3 * KP_JOINT_BLOCK], sines[3 * KP_JOINT_BLOCK], cosines[3 * KP_JOINT_BLOCK], m[9], cm[9];
    for (size_t i = 0; i < 3 * count; i++) {
        int32_t channel = axis_channel[3 * first + i];
        angles[i] = channel >= 0 ? values[channel] * angle_scale : 0.0;
    }
    for (size_t i = 0; i < 3 * count; i++)
        kp_sincos_one(angles[i], sines + i, cosines + i);
    for (size_t i = 0; i < count; i++) {
        size_t j = first + i;
        if (!has_channels(axis_channel + 3 * j)) {
            copy9(out + 9 * j, rest ? rest + 9 * j : identity);
            continue;
        }
        euler_product(m, axis_channel + 3 * j, axis_id + 3 * j, sines + 3 * i, cosines + 3 * i);
        if (frame) {
            multiply(cm, frame + 9 * j, m);
            multiply_transposed(out + 9 * j, cm, frame + 9 * j);
        } else {
            copy9(out + 9 * j, m);
        }
    }
}

int32_t kp_local_rotations(size_t frames, size_t joints, size_t channels, const double *values, double angle_scale,
                           const int32_t *axis_channel, const int32_t *axis_id, const double *frame,
                           const double *rest, double *out)
{
    int32_t status = check_axes(joints, channels, axis_channel, axis_id);
    if (status != KP_OK)
        return status;
    for (size_t f = 0; f < frames; f++) {
        for (size_t first = 0; first < joints; first += KP_JOINT_BLOCK) {
            size_t count = joints - first < KP_JOINT_BLOCK ? joints - first : KP_JOINT_BLOCK;
            rotate_block(first, count, values + f * channels, angle_scale, axis_channel, axis_id, frame, rest,
                         out + f * joints * 9);
        }
    }
    return KP_OK;
}

/* ---- forward kinematics ---------------------------------------------------------------------------------------- */

int32_t kp_forward_kinematics(size_t frames, size_t joints, const int32_t *parents, const double *local_rot,
                              const double *local_trans, const double *local_scale, const double *tips,
                              double *out_rot, double *out_origin, double *out_point)
{
    static const double zero[3] = {0, 0, 0};
    double scaled[9];
    int32_t status = check_parents(joints, parents);
    if (status != KP_OK)
        return status;
    for (size_t f = 0; f < frames; f++) {
        double *rot = out_rot + 9 * f * joints, *origin = out_origin + 3 * f * joints;
        for (size_t j = 0; j < joints; j++) {
            size_t at = f * joints + j;
            const double *local = local_rot + 9 * at;
            if (local_scale) {
                for (int i = 0; i < 9; i++)
                    scaled[i] = local[i] * local_scale[3 * at + i % 3];
                local = scaled;
            }
            if (parents[j] < 0) {
                copy9(rot + 9 * j, local);
                for (int i = 0; i < 3; i++)
                    origin[3 * j + i] = local_trans[3 * at + i];
            } else {
                multiply(rot + 9 * j, rot + 9 * parents[j], local);
                transform(origin + 3 * j, rot + 9 * parents[j], local_trans + 3 * at, origin + 3 * parents[j]);
            }
            transform(out_point + 3 * at, rot + 9 * j, tips ? tips + 3 * j : zero, origin + 3 * j);
        }
    }
    return KP_OK;
}

/* ---- Jacobian -------------------------------------------------------------------------------------------------- */

/* World axes of a joint's (up to three) rotation channels: G(parent) C R(0) .. R(k-1) e(axis k). */
static void world_axes(double *axes, const double *values, double angle_scale, const int32_t *axis_channel,
                       const int32_t *axis_id, const double *frame, const double *parent_rot)
{
    double m[9], sine, cosine;
    multiply(m, parent_rot, frame);
    for (int k = 0; k < 3; k++) {
        if (axis_channel[k] < 0)
            continue;
        for (int r = 0; r < 3; r++)
            axes[3 * k + r] = m[3 * r + axis_id[k]];
        kp_sincos_one(values[axis_channel[k]] * angle_scale, &sine, &cosine);
        turn(m, axis_id[k], sine, cosine);
    }
}

/* Adds one joint's columns to the three rows of a point below it. */
static void add_columns(double *rows, size_t columns, const int32_t *column_of, const int32_t *axis_channel,
                        const int32_t *trans_channel, const double *axes, const double *parent_rot,
                        const double *lever)
{
    for (int k = 0; k < 3; k++) {
        int32_t column = axis_channel[k] >= 0 ? column_of[axis_channel[k]] : -1;
        if (column >= 0) {
            const double *w = axes + 3 * k;
            rows[column] += w[1] * lever[2] - w[2] * lever[1];
            rows[columns + (size_t)column] += w[2] * lever[0] - w[0] * lever[2];
            rows[2 * columns + (size_t)column] += w[0] * lever[1] - w[1] * lever[0];
        }
        column = trans_channel[k] >= 0 ? column_of[trans_channel[k]] : -1;
        if (column >= 0)
            for (size_t r = 0; r < 3; r++)
                rows[r * columns + (size_t)column] += parent_rot[3 * r + (size_t)k];
    }
}

static int32_t check_columns(size_t joints, size_t channels, const int32_t *trans_channel, const int32_t *column_of,
                             size_t columns)
{
    for (size_t i = 0; i < 3 * joints; i++)
        if (trans_channel[i] < -1 || (trans_channel[i] >= 0 && (size_t)trans_channel[i] >= channels))
            return KP_ARGUMENT;
    for (size_t c = 0; c < channels; c++)
        if (column_of[c] < -1 || (column_of[c] >= 0 && (size_t)column_of[c] >= columns))
            return KP_ARGUMENT;
    return KP_OK;
}

int32_t kp_jacobian(size_t frames, size_t joints, size_t channels, const int32_t *parents, const double *values,
                    double angle_scale, const int32_t *axis_channel, const int32_t *axis_id, const double *frame,
                    const int32_t *trans_channel, const double *global_rot, const double *origin,
                    const double *point, const int32_t *column_of, size_t columns, double *scratch, double *out)
{
    double lever[3];
    if (check_parents(joints, parents) != KP_OK || check_axes(joints, channels, axis_channel, axis_id) != KP_OK ||
        check_columns(joints, channels, trans_channel, column_of, columns) != KP_OK)
        return KP_ARGUMENT;
    for (size_t i = 0; i < frames * joints * 3 * columns; i++)
        out[i] = 0.0;
    for (size_t f = 0; f < frames; f++) {
        const double *rot = global_rot + 9 * f * joints;
        for (size_t j = 0; j < joints; j++)
            world_axes(scratch + 9 * j, values + f * channels, angle_scale, axis_channel + 3 * j, axis_id + 3 * j,
                       frame ? frame + 9 * j : identity, parents[j] < 0 ? identity : rot + 9 * parents[j]);
        for (size_t n = 0; n < joints; n++) {
            double *rows = out + (f * joints + n) * 3 * columns;
            for (int32_t j = (int32_t)n; j >= 0; j = parents[j]) {
                for (int r = 0; r < 3; r++)
                    lever[r] = point[3 * (f * joints + n) + r] - origin[3 * (f * joints + (size_t)j) + r];
                add_columns(rows, columns, column_of, axis_channel + 3 * j, trans_channel + 3 * j, scratch + 9 * j,
                            parents[j] < 0 ? identity : rot + 9 * parents[j], lever);
            }
        }
    }
    return KP_OK;
}
