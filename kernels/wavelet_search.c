/*
 * Algorithm 1 of Beaudoin, Poulin and van de Panne 2007: how many of each signal's largest coefficients to keep.
 *
 * The search asks thousands of times what e_x would be if one channel changed. A channel moves one joint, and what
 * hangs from it moves as one rigid (or affine) piece, so the squared error of the piece is a quadratic form in the
 * joint's transform whose coefficients are moments over the piece:
 *
 *   sum w |o + B v - x|^2 = e - 2 (o.X + B:K) + W |o|^2 + 2 o.(B s) + tr(B V B^T),   B = G(parent) linear
 *
 * v: copy's points in the joint's own frame, x: the original's points; W = sum w, s = sum w v, V = sum w v v^T,
 * X = sum w x, K = sum w x v^T, e = sum w |x|^2. One question costs one local transform a frame; when a channel does
 * change, only the transforms below its joint and the moments above it are computed again.
 */
#include "wavelet_rig.h"

enum { LINEAR = 0, SHIFT = 9, GLOBAL = 12, ORIGIN = 21, S = 24, V = 27, X = 33, K = 36, E = 45, NODE = 46 };

typedef struct {
    const kp_rig *rig;
    const kp_signals *signals;
    const double *targets; /* [frames * joints * 3] the original's points */
    double *values;        /* [frames * channels] */
    double *nodes;         /* [frames * joints * NODE] */
    double *mass;          /* [joints] W of each joint's piece */
    double *errors;        /* [joints] squared error of each joint's piece, all frames */
    double *signal;        /* [frames] */
    double *scratch;       /* [frames] */
} kp_search;

static double *node_at(const kp_search *s, size_t frame, size_t joint)
{
    return s->nodes + (frame * s->rig->joints + joint) * NODE;
}

/* ---- transforms, top down ---------------------------------------------------------------------------------------- */

static void place(const kp_search *s, size_t f, size_t j)
{
    double *n = node_at(s, f, j);
    int32_t parent = s->rig->parents[j];
    if (parent < 0) {
        for (int i = 0; i < 9; i++)
            n[GLOBAL + i] = n[LINEAR + i];
        for (int i = 0; i < 3; i++)
            n[ORIGIN + i] = n[SHIFT + i];
        return;
    }
    const double *p = node_at(s, f, (size_t)parent);
    kp_multiply3(n + GLOBAL, p + GLOBAL, n + LINEAR);
    for (int r = 0; r < 3; r++)
        n[ORIGIN + r] = p[ORIGIN + r] + p[GLOBAL + 3 * r] * n[SHIFT] + p[GLOBAL + 3 * r + 1] * n[SHIFT + 1] +
                        p[GLOBAL + 3 * r + 2] * n[SHIFT + 2];
}

static void bend(const kp_search *s, size_t f, size_t j)
{
    double *n = node_at(s, f, j);
    kp_row row = {s->values + f * s->rig->channels, -1, 0.0};
    kp_local(s->rig, j, &row, n + LINEAR, n + SHIFT);
}

/* ---- moments, bottom up ------------------------------------------------------------------------------------------ */

static void own_moments(const kp_search *s, size_t f, size_t j)
{
    double *n = node_at(s, f, j), w = s->rig->weights[j];
    const double *v = s->rig->tips + 3 * j, *x = s->targets + 3 * (f * s->rig->joints + j);
    for (int i = 0; i < 3; i++) {
        n[S + i] = w * v[i];
        n[X + i] = w * x[i];
        for (int k = 0; k < 3; k++)
            n[K + 3 * i + k] = w * x[i] * v[k];
    }
    n[V] = w * v[0] * v[0], n[V + 1] = w * v[0] * v[1], n[V + 2] = w * v[0] * v[2];
    n[V + 3] = w * v[1] * v[1], n[V + 4] = w * v[1] * v[2], n[V + 5] = w * v[2] * v[2];
    n[E] = w * (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

static void unpack_symmetric(const double *v, double *m)
{
    m[0] = v[0], m[1] = m[3] = v[1], m[2] = m[6] = v[2], m[4] = v[3], m[5] = m[7] = v[4], m[8] = v[5];
}

/* v' = T + L v moves a child's moments into its parent's frame. */
static void add_child(double *p, const double *c, double mass)
{
    const double *L = c + LINEAR, *T = c + SHIFT;
    double ls[3], full[9], lv[9], lvl[9];
    for (int r = 0; r < 3; r++)
        ls[r] = L[3 * r] * c[S] + L[3 * r + 1] * c[S + 1] + L[3 * r + 2] * c[S + 2];
    unpack_symmetric(c + V, full);
    kp_multiply3(lv, L, full);
    kp_multiply3_transposed(lvl, lv, L);
    for (int r = 0, at = 0; r < 3; r++) {
        p[S + r] += mass * T[r] + ls[r];
        p[X + r] += c[X + r];
        for (int k = r; k < 3; k++, at++)
            p[V + at] += mass * T[r] * T[k] + T[r] * ls[k] + ls[r] * T[k] + lvl[3 * r + k];
        for (int k = 0; k < 3; k++)
            p[K + 3 * r + k] += c[X + r] * T[k] + c[K + 3 * r] * L[3 * k] + c[K + 3 * r + 1] * L[3 * k + 1] +
                                c[K + 3 * r + 2] * L[3 * k + 2];
    }
    p[E] += c[E];
}

static void gather(const kp_search *s, size_t f, size_t j)
{
    own_moments(s, f, j);
    for (size_t c = j + 1; c < s->rig->joints; c++)
        if (s->rig->parents[c] == (int32_t)j)
            add_child(node_at(s, f, j), node_at(s, f, c), s->mass[c]);
}

/* ---- squared error of a piece ------------------------------------------------------------------------------------ */

static double piece_error(const kp_search *s, size_t f, size_t j, const double *linear, const double *shift)
{
    const double *n = node_at(s, f, j);
    int32_t parent = s->rig->parents[j];
    double product[9], o[3], full[9], bv[9], error = n[E];
    const double *B = linear;
    if (parent >= 0) {
        const double *p = node_at(s, f, (size_t)parent), *G = p + GLOBAL;
        kp_multiply3(product, G, linear);
        B = product;
        for (int r = 0; r < 3; r++)
            o[r] = p[ORIGIN + r] + G[3 * r] * shift[0] + G[3 * r + 1] * shift[1] + G[3 * r + 2] * shift[2];
    } else {
        for (int r = 0; r < 3; r++)
            o[r] = shift[r];
    }
    unpack_symmetric(n + V, full);
    kp_multiply3(bv, B, full);
    for (int r = 0; r < 3; r++) {
        double bs = B[3 * r] * n[S] + B[3 * r + 1] * n[S + 1] + B[3 * r + 2] * n[S + 2];
        error += o[r] * (s->mass[j] * o[r] + 2.0 * (bs - n[X + r]));
        for (int k = 0; k < 3; k++)
            error += B[3 * r + k] * (bv[3 * r + k] - 2.0 * n[K + 3 * r + k]);
    }
    return error;
}

static double piece_errors(const kp_search *s, size_t j)
{
    double sum = 0;
    for (size_t f = 0; f < s->rig->frames; f++) {
        const double *n = node_at(s, f, j);
        sum += piece_error(s, f, j, n + LINEAR, n + SHIFT);
    }
    return sum;
}

static double total_error(const kp_search *s)
{
    double sum = 0;
    for (size_t j = 0; j < s->rig->joints; j++)
        if (s->rig->parents[j] < 0)
            sum += s->errors[j];
    return sum;
}

/* ---- state -------------------------------------------------------------------------------------------------------- */

static int hangs_from(const kp_rig *rig, size_t j, size_t top)
{
    for (int32_t at = (int32_t)j; at >= 0; at = rig->parents[at])
        if ((size_t)at == top)
            return 1;
    return 0;
}

static void prepare(const kp_search *s)
{
    size_t joints = s->rig->joints;
    for (size_t j = 0; j < joints; j++)
        s->mass[j] = s->rig->weights[j];
    for (size_t j = joints; j-- > 0;)
        if (s->rig->parents[j] >= 0)
            s->mass[s->rig->parents[j]] += s->mass[j];
    for (size_t f = 0; f < s->rig->frames; f++) {
        for (size_t j = 0; j < joints; j++) {
            bend(s, f, j);
            place(s, f, j);
        }
        for (size_t j = joints; j-- > 0;)
            gather(s, f, j);
    }
    for (size_t j = 0; j < joints; j++)
        s->errors[j] = piece_errors(s, j);
}

/* After a change of joint `top`'s channels. */
static void refresh(const kp_search *s, size_t top)
{
    for (size_t f = 0; f < s->rig->frames; f++)
        bend(s, f, top);
    for (size_t j = top; j < s->rig->joints; j++)
        if (hangs_from(s->rig, j, top))
            for (size_t f = 0; f < s->rig->frames; f++)
                place(s, f, j);
    for (int32_t at = s->rig->parents[top]; at >= 0; at = s->rig->parents[at])
        for (size_t f = 0; f < s->rig->frames; f++)
            gather(s, f, (size_t)at);
    for (size_t j = 0; j < s->rig->joints; j++)
        if (hangs_from(s->rig, j, top) || hangs_from(s->rig, top, j))
            s->errors[j] = piece_errors(s, j);
}

/* trunc(q_c, m): the channel from its m largest coefficients. */
static void truncated(const kp_search *s, size_t channel, size_t kept)
{
    const kp_signals *g = s->signals;
    const double *coefficients = g->coefficients + channel * s->rig->frames;
    const int32_t *order = g->order + channel * s->rig->frames;
    for (size_t f = 0; f < s->rig->frames; f++)
        s->signal[f] = 0.0;
    for (size_t i = 0; i < kept; i++)
        s->signal[order[i]] = coefficients[order[i]];
    kp_lifting_inverse(s->signal, s->rig->frames, 1, g->levels, KP_CUBIC, s->scratch);
}

static void assign(const kp_search *s, size_t channel, size_t kept)
{
    truncated(s, channel, kept);
    for (size_t f = 0; f < s->rig->frames; f++)
        s->values[f * s->rig->channels + channel] = s->signal[f];
}

/* Squared error of the joint's piece if the channel had `kept` coefficients. */
static double asked(const kp_search *s, size_t channel, size_t kept)
{
    size_t joint = (size_t)s->signals->joints[channel];
    double linear[9], shift[3], sum = 0;
    truncated(s, channel, kept);
    for (size_t f = 0; f < s->rig->frames; f++) {
        kp_row row = {s->values + f * s->rig->channels, (int32_t)channel, s->signal[f]};
        kp_local(s->rig, joint, &row, linear, shift);
        sum += piece_error(s, f, joint, linear, shift);
    }
    return sum;
}

static uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x * UINT64_C(2685821657736338717);
}

/* Line 8: the channel that gains most from `step` more coefficients; `giver` stands for leaving all as it was. */
static size_t best_taker(const kp_search *s, size_t giver, uint32_t step, const uint32_t *kept, double unchanged)
{
    double total = total_error(s), least = unchanged;
    size_t best = giver;
    for (size_t c = 0; c < s->rig->channels; c++) {
        if (c == giver || s->signals->joints[c] < 0 || kept[c] + step > s->rig->frames)
            continue;
        double error = total - s->errors[s->signals->joints[c]] + asked(s, c, kept[c] + step);
        if (error < least) {
            least = error;
            best = c;
        }
    }
    return best;
}

static int32_t check_signals(const kp_search *s, const uint32_t *kept)
{
    size_t total = 0;
    for (size_t c = 0; c < s->rig->channels; c++) {
        if (s->signals->joints[c] < -1 || (s->signals->joints[c] >= 0 && (size_t)s->signals->joints[c] >= s->rig->joints))
            return KP_ARGUMENT;
        if (kept[c] > s->rig->frames)
            return KP_ARGUMENT;
        total += s->signals->joints[c] >= 0;
    }
    return total > 0 && s->rig->frames > 0 ? KP_OK : KP_ARGUMENT;
}

/* Lines 3 to 11 of Algorithm 1. */
static void anneal(const kp_search *s, uint32_t *kept, uint32_t step, uint32_t patience, uint64_t seed, uint32_t most,
                   uint32_t *iterations)
{
    uint32_t failures = 0;
    for (*iterations = 0; step > 0 && *iterations < most;) {
        size_t i = (size_t)((random_next(&seed) >> 11) % s->rig->channels);
        if (s->signals->joints[i] < 0)
            continue;
        ++*iterations;
        uint32_t part = step < kept[i] ? step : kept[i];
        size_t j = i;
        if (part > 0) {
            double unchanged = total_error(s);
            assign(s, i, kept[i] - part);
            refresh(s, (size_t)s->signals->joints[i]);
            j = best_taker(s, i, part, kept, unchanged);
            if (j != i)
                kept[i] -= part;
            kept[j] += j != i ? part : 0;
            assign(s, j, kept[j]);
            refresh(s, (size_t)s->signals->joints[j]);
        }
        failures = j != i ? 0 : failures + 1;
        if (failures >= patience) {
            step /= 2;
            failures = 0;
        }
    }
}

int32_t kp_wavelet_anneal(const kp_rig *rig, const kp_signals *signals, const double *targets, uint32_t *kept,
                          uint32_t patience, uint64_t seed, uint32_t most, double *scratch, uint32_t *iterations,
                          double *error)
{
    size_t cells = rig->frames * rig->joints;
    kp_search s = {rig, signals, targets, scratch, 0, 0, 0, 0, 0};
    s.nodes = s.values + rig->frames * rig->channels;
    s.mass = s.nodes + cells * NODE;
    s.errors = s.mass + rig->joints;
    s.signal = s.errors + rig->joints;
    s.scratch = s.signal + rig->frames;
    if (check_signals(&s, kept) != KP_OK || seed == 0)
        return KP_ARGUMENT;
    uint32_t largest = 0;
    for (size_t c = 0; c < rig->channels; c++) {
        assign(&s, c, kept[c]);
        if (signals->joints[c] >= 0 && kept[c] > largest)
            largest = kept[c];
    }
    prepare(&s);
    anneal(&s, kept, largest / 2, patience, seed, most, iterations);
    *error = total_error(&s);
    return KP_OK;
}
