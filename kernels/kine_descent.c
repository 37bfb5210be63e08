/*
 * Rate-distortion quantiser of the `kine` codec: coordinate descent on e'He + lambda * bits, all tracks of a block in
 * one loop, so that every track absorbs the error that the others leave. Encoder only.
 *
 * Everything is in steps: y[track][row] are the wanted coefficients, error[track][frame] is the reconstruction's
 * distance in time, H[track][track][group] the metric's second derivative, constant over `group` frames.
 */
#include "kine.h"

#define LARGEST 8000000
#define STABLE 0.6f

typedef struct {
    size_t rows, tracks, group, groups;
    const float *basis; /* [row][frame], orthonormal */
    const float *metric;
    const uint8_t *coupled; /* [track][track] where the metric is not zero */
    float *error;
    float *gradient;  /* [frame] */
    float *projected; /* [row] */
    float *curvature; /* [track][row] */
    uint32_t *limits; /* [track] rows that may be other than zero */
    int32_t *means;   /* [row] */
} descent;

static void project(const descent *d, const float *signal, float *out, size_t count)
{
    for (size_t k = 0; k < count; k++)
        out[k] = 0;
    for (size_t k = 0; k < count; k++) {
        const float *row = d->basis + k * d->rows;
        float sums[8] = {0};
        size_t t = 0;
        for (; t + 8 <= d->rows; t += 8)
            for (int i = 0; i < 8; i++)
                sums[i] += row[t + i] * signal[t + i];
        for (; t < d->rows; t++)
            sums[0] += row[t] * signal[t];
        out[k] = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
    }
}

static void add_wave(const descent *d, size_t track, size_t row, float amount)
{
    float *error = d->error + track * d->rows;
    const float *wave = d->basis + row * d->rows;
    for (size_t t = 0; t < d->rows; t++)
        error[t] += amount * wave[t];
}

static void gradient_of(const descent *d, size_t track)
{
    for (size_t t = 0; t < d->rows; t++)
        d->gradient[t] = 0;
    for (size_t j = 0; j < d->tracks; j++) {
        if (!d->coupled[track * d->tracks + j])
            continue;
        const float *h = d->metric + (track * d->tracks + j) * d->groups, *e = d->error + j * d->rows;
        for (size_t g = 0; g < d->groups; g++) {
            size_t end = (g + 1) * d->group < d->rows ? (g + 1) * d->group : d->rows;
            float scale = h[g];
            for (size_t t = g * d->group; t < end; t++)
                d->gradient[t] += scale * e[t];
        }
    }
}

/* curvature[track][row] = sum over frames of basis^2 H(track, track). All rows of a track move at once, which converges
 * while the curvature is above half of H wherever H peaks. */
static void fill_curvature(descent *d)
{
    for (size_t c = 0; c < d->tracks; c++) {
        const float *h = d->metric + (c * d->tracks + c) * d->groups;
        float least = 0;
        for (size_t g = 0; g < d->groups; g++)
            if (least < STABLE * h[g])
                least = STABLE * h[g];
        for (size_t k = 0; k < d->limits[c]; k++) {
            const float *wave = d->basis + k * d->rows;
            float sum = 0;
            for (size_t t = 0; t < d->rows; t++)
                sum += wave[t] * wave[t] * h[t / d->group];
            if (sum < least)
                sum = least;
            d->curvature[c * d->rows + k] = sum > 1e-6f ? sum : 1e-6f;
        }
    }
}

static void start(descent *d, const double *y, int32_t *q, uint8_t *logs)
{
    for (size_t i = 0; i < d->tracks * d->rows; i++)
        d->error[i] = 0;
    for (size_t c = 0; c < d->tracks; c++) {
        d->limits[c] = 0;
        for (size_t k = 0; k < d->rows; k++) {
            double wanted = y[c * d->rows + k], size = wanted < 0 ? -wanted : wanted;
            int32_t level = size < LARGEST ? (int32_t)(size + 0.4) : LARGEST;
            if (size > 0.3)
                d->limits[c] = (uint32_t)k + 1;
            q[k * d->tracks + c] = wanted < 0 ? -level : level;
            logs[k * d->tracks + c] = (uint8_t)kp_kine_log((uint32_t)level);
            float miss = (float)(q[k * d->tracks + c] - wanted);
            if (miss != 0)
                add_wave(d, c, k, miss);
        }
    }
}

static inline float cost_of(const float *costs, uint32_t magnitude)
{
    return magnitude < 64 ? costs[magnitude] : costs[63];
}

/* The best of zero and the two levels around the target. */
static inline int32_t choose(double target, double weight, double lambda, const float *costs)
{
    double size = target < 0 ? -target : target;
    if (size > LARGEST)
        size = LARGEST;
    int32_t low = (int32_t)size, best = 0;
    double least = weight * size * size + lambda * costs[0];
    for (int32_t level = low > 0 ? low : 1; level <= low + 1; level++) {
        double miss = size - level;
        double cost = weight * miss * miss + lambda * cost_of(costs, (uint32_t)level);
        if (cost < least) {
            least = cost;
            best = level;
        }
    }
    return target < 0 ? -best : best;
}

static void sweep_track(descent *d, kp_kine_block *b, size_t c, float lambda, const float *costs, int32_t *q)
{
    size_t limit = d->limits[c];
    gradient_of(d, c);
    project(d, d->gradient, d->projected, limit);
    b->runs[c] = 0;
    for (size_t k = 0; k < d->rows; k++) {
        int32_t *level = q + k * d->tracks + c, chosen = 0;
        if (k < limit) {
            float weight = d->curvature[c * d->rows + k];
            kp_kine_start_row(b, (uint32_t)k);
            kp_kine_context x = kp_kine_contexts(b, (uint32_t)k, (uint32_t)c, d->means[k]);
            chosen = choose(*level - (double)(d->projected[k] / weight), weight, lambda, costs + x.level * 64);
            if (chosen != *level)
                add_wave(d, c, k, (float)(chosen - *level));
        }
        *level = chosen;
        d->means[k] = kp_kine_learn(b, (uint32_t)k, (uint32_t)c, d->means[k],
                                    chosen < 0 ? 0u - (uint32_t)chosen : (uint32_t)chosen);
    }
}

/* q[rows * tracks] receives the levels. error[tracks * rows], curvature[tracks * rows], vectors[2 * rows],
 * limits[tracks], means[rows], runs[tracks] and logs[rows * tracks] are scratch; costs[48 * 64] are bits by predicted
 * magnitude class and magnitude. */
int32_t kp_kine_descend(const double *y, size_t rows, size_t tracks, const float *basis, const float *metric,
                        const uint8_t *coupled, size_t group, float lambda, uint32_t sweeps, const float *costs,
                        const uint8_t *classes, uint32_t unit, uint32_t quality, const int16_t *model, float *error,
                        float *curvature, float *vectors, uint32_t *limits, int32_t *means, int32_t *runs,
                        uint8_t *logs, int32_t *q)
{
    if (rows < 1 || rows > KP_KINE_ROWS_MAX || group < 1 || unit < 1 || unit > KP_KINE_ROWS_MAX / 16)
        return KP_ARGUMENT;
    descent d = {rows,    tracks, group,     (rows + group - 1) / group, basis, metric, coupled, error, vectors,
                 vectors + rows, curvature, limits, means};
    kp_kine_block b = {model, classes, logs, NULL, runs, 0, (uint32_t)rows, (uint32_t)tracks, unit, quality, NULL, NULL, NULL, 0};
    for (size_t t = 0; t < tracks; t++)
        if (classes[t] >= KP_KINE_CLASSES)
            return KP_ARGUMENT;
    start(&d, y, q, logs);
    fill_curvature(&d);
    for (uint32_t sweep = 0; sweep < sweeps; sweep++) {
        for (size_t k = 0; k < rows; k++)
            means[k] = 0;
        for (size_t c = 0; c < tracks; c++)
            sweep_track(&d, &b, c, lambda, costs, q);
    }
    return KP_OK;
}
