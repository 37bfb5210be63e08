/*
 * First derivatives of measured points, applied without a Jacobian matrix: every channel turns or shifts all that
 * hangs from its joint, so J d is one pass down the tree (velocities) and J^T r one pass up (forces and torques).
 */
#include "wavelet_rig.h"

enum { CHANNEL_NONE = 0, CHANNEL_TURNS = 1, CHANNEL_SHIFTS = 2 };

static inline void add_cross(double *out, const double *a, const double *b, double factor)
{
    out[0] += factor * (a[1] * b[2] - a[2] * b[1]);
    out[1] += factor * (a[2] * b[0] - a[0] * b[2]);
    out[2] += factor * (a[0] * b[1] - a[1] * b[0]);
}

static inline double dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static int32_t check_motion(const kp_motion *m)
{
    for (size_t j = 0; j < m->joints; j++)
        if (m->parents[j] < -1 || (m->parents[j] >= 0 && (size_t)m->parents[j] >= j))
            return KP_ARGUMENT;
    for (size_t c = 0; c < m->channels; c++)
        if (m->kinds[c] != CHANNEL_NONE && (m->channel_joints[c] < 0 || (size_t)m->channel_joints[c] >= m->joints))
            return KP_ARGUMENT;
    return KP_OK;
}

int32_t kp_pose_axes(const kp_rig *rig, const double *values, const double *rotations, double *axes)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double m[9], sine, cosine;
    for (size_t f = 0; f < rig->frames; f++) {
        const double *row = values + f * rig->channels;
        double *out = axes + 3 * f * rig->channels;
        for (size_t j = 0; j < rig->joints; j++) {
            const double *up = rig->parents[j] < 0 ? identity : rotations + 9 * (f * rig->joints + (size_t)rig->parents[j]);
            for (size_t k = 0; k < 3; k++)
                for (size_t r = 0; rig->translation_channel[3 * j + k] >= 0 && r < 3; r++)
                    out[3 * rig->translation_channel[3 * j + k] + (int32_t)r] = up[3 * r + k];
            kp_multiply3(m, up, rig->frame + 9 * j);
            for (size_t k = 0; k < 3; k++) {
                int32_t channel = rig->axis_channel[3 * j + k], axis = rig->axis_id[3 * j + k];
                if (channel < 0)
                    break;
                for (int r = 0; r < 3; r++)
                    out[3 * channel + r] = m[3 * r + axis] * rig->angle_scale;
                kp_sincos_one(row[channel] * rig->angle_scale, &sine, &cosine);
                kp_turn3(m, axis, sine, cosine);
            }
        }
    }
    return KP_OK;
}

/* Velocities of the points of one frame: of each joint's piece, v + omega x p. scratch[joints * 6]. */
static void push(const kp_motion *m, size_t f, const double *change, double *state, double *out)
{
    const double *axes = m->axes + 3 * f * m->channels, *origins = m->origins + 3 * f * m->joints;
    for (size_t i = 0; i < 6 * m->joints; i++)
        state[i] = 0.0;
    for (size_t c = 0; c < m->channels; c++) {
        if (m->kinds[c] == CHANNEL_NONE)
            continue;
        double turn[3], *own = state + 6 * m->channel_joints[c];
        for (int i = 0; i < 3; i++)
            turn[i] = axes[3 * c + (size_t)i] * change[c];
        for (int i = 0; i < 3; i++)
            own[i + (m->kinds[c] == CHANNEL_SHIFTS ? 3 : 0)] += turn[i];
        if (m->kinds[c] == CHANNEL_TURNS)
            add_cross(own + 3, turn, origins + 3 * m->channel_joints[c], -1.0);
    }
    for (size_t j = 0; j < m->joints; j++) {
        double *own = state + 6 * j;
        for (int i = 0; m->parents[j] >= 0 && i < 6; i++)
            own[i] += state[6 * m->parents[j] + i];
        for (size_t i = 0; i < 3; i++)
            out[3 * j + i] = own[3 + i];
        add_cross(out + 3 * j, own, m->points + 3 * (f * m->joints + j), 1.0);
    }
}

/* J^T W r of one frame. */
static void pull(const kp_motion *m, size_t f, const double *residual, double *state, double *out)
{
    const double *axes = m->axes + 3 * f * m->channels, *origins = m->origins + 3 * f * m->joints;
    for (size_t j = 0; j < m->joints; j++) {
        double *own = state + 6 * j;
        for (size_t i = 0; i < 3; i++) {
            own[i] = 0.0;
            own[3 + i] = m->weights[f * m->joints + j] * residual[3 * j + i];
        }
        add_cross(own, m->points + 3 * (f * m->joints + j), own + 3, 1.0);
    }
    for (size_t j = m->joints; j-- > 0;)
        for (int i = 0; m->parents[j] >= 0 && i < 6; i++)
            state[6 * m->parents[j] + i] += state[6 * j + (size_t)i];
    for (size_t c = 0; c < m->channels; c++) {
        out[c] = 0.0;
        if (m->kinds[c] == CHANNEL_NONE)
            continue;
        const double *own = state + 6 * m->channel_joints[c], *origin = origins + 3 * m->channel_joints[c];
        double torque[3] = {own[0], own[1], own[2]};
        add_cross(torque, origin, own + 3, -1.0);
        out[c] = dot3(axes + 3 * c, m->kinds[c] == CHANNEL_TURNS ? torque : own + 3);
    }
}

int32_t kp_pose_pull(const kp_motion *m, const double *residual, double *scratch, double *out)
{
    if (check_motion(m) != KP_OK)
        return KP_ARGUMENT;
    for (size_t f = 0; f < m->frames; f++)
        pull(m, f, residual + 3 * f * m->joints, scratch, out + f * m->channels);
    return KP_OK;
}

int32_t kp_pose_curvature(const kp_motion *m, const double *change, double *scratch, double *out)
{
    double *moved = scratch + 6 * m->joints;
    if (check_motion(m) != KP_OK)
        return KP_ARGUMENT;
    for (size_t f = 0; f < m->frames; f++) {
        push(m, f, change + f * m->channels, scratch, moved);
        pull(m, f, moved, scratch, out + f * m->channels);
    }
    return KP_OK;
}

/* Diagonal of J^T W J: sum w |a x (p - o)|^2 over the piece, from its moments. scratch[joints * 10]. */
static void diagonal(const kp_motion *m, size_t f, double *state, double *out)
{
    const double *axes = m->axes + 3 * f * m->channels, *origins = m->origins + 3 * f * m->joints;
    const double *points = m->points + 3 * f * m->joints, *root = origins;
    for (size_t j = 0; j < m->joints; j++) {
        double *own = state + 10 * j, w = m->weights[f * m->joints + j], p[3];
        for (size_t i = 0; i < 3; i++)
            p[i] = points[3 * j + i] - root[i];
        own[0] = w;
        for (int r = 0, at = 4; r < 3; r++) {
            own[1 + r] = w * p[r];
            for (int k = r; k < 3; k++, at++)
                own[at] = w * p[r] * p[k];
        }
    }
    for (size_t j = m->joints; j-- > 0;)
        for (int i = 0; m->parents[j] >= 0 && i < 10; i++)
            state[10 * m->parents[j] + i] += state[10 * j + (size_t)i];
    for (size_t c = 0; c < m->channels; c++) {
        out[c] = 0.0;
        if (m->kinds[c] == CHANNEL_NONE)
            continue;
        const double *own = state + 10 * m->channel_joints[c], *a = axes + 3 * c, *s = own + 1;
        double o[3], square = dot3(a, a);
        for (int i = 0; i < 3; i++)
            o[i] = origins[3 * m->channel_joints[c] + i] - root[i];
        if (m->kinds[c] == CHANNEL_SHIFTS) {
            out[c] = square * own[0];
            continue;
        }
        double trace = own[4] + own[7] + own[9] - 2 * dot3(o, s) + own[0] * dot3(o, o), ao = dot3(a, o);
        double along = a[0] * a[0] * own[4] + a[1] * a[1] * own[7] + a[2] * a[2] * own[9] +
                       2 * (a[0] * a[1] * own[5] + a[0] * a[2] * own[6] + a[1] * a[2] * own[8]) -
                       2 * ao * dot3(a, s) + own[0] * ao * ao;
        double value = square * trace - along;
        out[c] = value > 0 ? value : 0.0;
    }
}

int32_t kp_pose_diagonal(const kp_motion *m, double *scratch, double *out)
{
    if (check_motion(m) != KP_OK)
        return KP_ARGUMENT;
    for (size_t f = 0; f < m->frames; f++)
        diagonal(m, f, scratch, out + f * m->channels);
    return KP_OK;
}
