/*
 * Rate-distortion quantiser of the `kine` codec: e'He + lambda * bits is made small, all tracks of a block in one loop,
 * so that every track absorbs the error that the others leave. Encoder only.
 *
 * Everything is in steps: y[track][row] are the wanted coefficients, error[track][frame] is the reconstruction's
 * distance in time, H[track][track][group] the metric's second derivative, constant over `group` frames.
 */
#include "kine.h"

#define LARGEST 8000000
#define LEAST 1e-6f
#define ABSORBED 0.5f /* of lambda: what shifting a coefficient as large as its usual size costs */

typedef struct {
    size_t rows, tracks, group, groups;
    const double *y;
    const float *basis; /* [row][frame], orthonormal */
    const float *metric;
    const uint8_t *coupled; /* [track][track] where the metric is not zero */
    const float *costs;     /* bits by predicted magnitude class and magnitude */
    float lambda;
    float *error;
    float *curvature; /* [track][row] */
    float *gradient;  /* [frame] */
    float *mean;      /* [track][track] of the metric over the block */
    float *factors;   /* [track][track] */
    uint32_t *limits; /* [track] rows that may be other than zero */
    int32_t *means;   /* [row] */
} descent;

static float product(const float *a, const float *b, size_t count)
{
    float sums[8] = {0};
    size_t t = 0;
    for (; t + 8 <= count; t += 8)
        for (int i = 0; i < 8; i++)
            sums[i] += a[t + i] * b[t + i];
    for (; t < count; t++)
        sums[0] += a[t] * b[t];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
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

/* The level of a row and track, which the context model then knows. */
static int32_t settle(descent *d, kp_kine_block *b, size_t k, size_t c, double target, double weight)
{
    kp_kine_context x = kp_kine_contexts(b, (uint32_t)k, (uint32_t)c, d->means[k]);
    int32_t level = k < d->limits[c] ? choose(target, weight, d->lambda, d->costs + x.level * 64) : 0;
    uint32_t magnitude = level < 0 ? 0u - (uint32_t)level : (uint32_t)level;
    d->means[k] = kp_kine_learn(b, (uint32_t)k, (uint32_t)c, d->means[k], magnitude);
    return level;
}

static void start_sweep(descent *d, kp_kine_block *b)
{
    for (size_t k = 0; k < d->rows; k++)
        d->means[k] = 0;
    for (size_t c = 0; c < d->tracks; c++)
        b->runs[c] = 0;
}

/* ---- the first levels, looking ahead ---------------------------------------------------------------------------- */

static void fill_limits(descent *d)
{
    for (size_t c = 0; c < d->tracks; c++) {
        d->limits[c] = 0;
        for (size_t k = 0; k < d->rows; k++)
            if (d->y[c * d->rows + k] > 0.3 || d->y[c * d->rows + k] < -0.3)
                d->limits[c] = (uint32_t)k + 1;
    }
}

static void fill_mean(descent *d)
{
    for (size_t i = 0; i < d->tracks * d->tracks; i++) {
        const float *h = d->metric + i * d->groups;
        float sum = 0;
        for (size_t g = 0; g < d->groups; g++)
            sum += h[g];
        d->mean[i] = sum / (float)d->groups;
    }
}

/* What shifting a track's coefficients in rows first..stop-1 costs, so that a small one, which is most often zero,
 * absorbs little. */
static float reluctance(const descent *d, size_t c, size_t first, size_t stop)
{
    double power = 0;
    for (size_t k = first; k < stop; k++)
        power += d->y[c * d->rows + k] * d->y[c * d->rows + k];
    return ABSORBED * d->lambda / (float)(power / (double)(stop - first) + 1e-3);
}

/* factors[c][j], j <= c: H with all tracks after c eliminated, as they will make up for the error that c leaves. */
static void eliminate(descent *d, size_t first, size_t stop)
{
    size_t n = d->tracks;
    for (size_t i = 0; i < n * n; i++)
        d->factors[i] = d->mean[i];
    for (size_t c = n; c-- > 0;) {
        const float *own = d->factors + c * n;
        float pivot = own[c] + d->mean[c * n + c] * reluctance(d, c, first, stop) + LEAST;
        for (size_t i = 0; i < c; i++) {
            float share = own[i] / pivot, *row = d->factors + i * n;
            if (share != 0)
                for (size_t j = 0; j <= i; j++)
                    row[j] -= share * own[j];
        }
    }
}

static size_t end_of_band(const descent *d, kp_kine_block *b, size_t first)
{
    uint32_t band = kp_kine_band(b, (uint32_t)first);
    size_t stop = first + 1;
    while (stop < d->rows && kp_kine_band(b, (uint32_t)stop) == band)
        stop++;
    return stop;
}

/* Levels row by row in the order in which they are coded. Tracks after one are taken to absorb its error as well as
 * they can, so that a parent's level is the best for all that hangs from it and not for itself alone. */
static void look_ahead(descent *d, kp_kine_block *b, int32_t *q)
{
    size_t stop = 0, n = d->tracks;
    start_sweep(d, b);
    fill_mean(d);
    for (size_t k = 0; k < d->rows; k++) {
        if (k == stop) {
            stop = end_of_band(d, b, k);
            eliminate(d, k, stop);
        }
        int32_t *line = q + k * n;
        kp_kine_start_row(b, (uint32_t)k);
        for (size_t c = 0; c < n; c++) {
            const float *factors = d->factors + c * n;
            double wanted = d->y[c * d->rows + k], weight = factors[c] > LEAST ? factors[c] : LEAST, pull = 0;
            for (size_t j = 0; j < c; j++)
                pull += factors[j] * (line[j] - d->y[j * d->rows + k]);
            line[c] = settle(d, b, k, c, wanted - pull / weight, weight);
        }
    }
}

static void fill_error(descent *d, const int32_t *q)
{
    for (size_t i = 0; i < d->tracks * d->rows; i++)
        d->error[i] = 0;
    for (size_t c = 0; c < d->tracks; c++)
        for (size_t k = 0; k < d->rows; k++) {
            float miss = (float)(q[k * d->tracks + c] - d->y[c * d->rows + k]);
            if (miss != 0)
                add_wave(d, c, k, miss);
        }
}

/* ---- coordinate descent ------------------------------------------------------------------------------------------ */

/* curvature[track][row] = sum over frames of basis^2 H(track, track) */
static void fill_curvature(descent *d)
{
    for (size_t c = 0; c < d->tracks; c++) {
        const float *h = d->metric + (c * d->tracks + c) * d->groups;
        for (size_t k = 0; k < d->limits[c]; k++) {
            const float *wave = d->basis + k * d->rows;
            float sum = 0;
            for (size_t t = 0; t < d->rows; t++)
                sum += wave[t] * wave[t] * h[t / d->group];
            d->curvature[c * d->rows + k] = sum > LEAST ? sum : LEAST;
        }
    }
}

/* A level changes: so do the error and the gradient of its track. */
static void move_level(descent *d, size_t c, size_t k, float amount)
{
    const float *wave = d->basis + k * d->rows, *h = d->metric + (c * d->tracks + c) * d->groups;
    add_wave(d, c, k, amount);
    for (size_t g = 0; g < d->groups; g++) {
        size_t end = (g + 1) * d->group < d->rows ? (g + 1) * d->group : d->rows;
        float scale = h[g] * amount;
        for (size_t t = g * d->group; t < end; t++)
            d->gradient[t] += scale * wave[t];
    }
}

static void sweep_track(descent *d, kp_kine_block *b, size_t c, int32_t *q)
{
    gradient_of(d, c);
    for (size_t k = 0; k < d->rows; k++) {
        int32_t *level = q + k * d->tracks + c, before = *level;
        double target = before, weight = 1;
        if (k < d->limits[c]) {
            weight = d->curvature[c * d->rows + k];
            target -= product(d->basis + k * d->rows, d->gradient, d->rows) / weight;
        }
        kp_kine_start_row(b, (uint32_t)k);
        *level = settle(d, b, k, c, target, weight);
        if (*level != before)
            move_level(d, c, k, (float)(*level - before));
    }
}

/* q[rows * tracks] receives the levels. error[tracks * rows], curvature[tracks * rows], gradient[rows],
 * squares[2 * tracks * tracks], limits[tracks], means[rows], runs[tracks] and logs[rows * tracks] are scratch;
 * costs[48 * 64] are bits by predicted magnitude class and magnitude. */
int32_t kp_kine_descend(const double *y, size_t rows, size_t tracks, const float *basis, const float *metric,
                        const uint8_t *coupled, size_t group, float lambda, uint32_t sweeps, const float *costs,
                        const uint8_t *classes, uint32_t unit, uint32_t quality, const int16_t *model, float *error,
                        float *curvature, float *gradient, float *squares, uint32_t *limits, int32_t *means,
                        int32_t *runs, uint8_t *logs, int32_t *q)
{
    if (rows < 1 || rows > KP_KINE_ROWS_MAX || group < 1 || unit < 1 || unit > KP_KINE_ROWS_MAX / 16)
        return KP_ARGUMENT;
    for (size_t t = 0; t < tracks; t++)
        if (classes[t] >= KP_KINE_CLASSES)
            return KP_ARGUMENT;
    descent d = {rows,      tracks,   group,   (rows + group - 1) / group, y,      basis, metric, coupled, costs, lambda, error,
                 curvature, gradient, squares, squares + tracks * tracks,  limits, means};
    kp_kine_block b = {model, classes, logs, NULL, runs, 0, (uint32_t)rows, (uint32_t)tracks, unit, quality, NULL, NULL, NULL, 0};
    fill_limits(&d);
    look_ahead(&d, &b, q);
    fill_error(&d, q);
    fill_curvature(&d);
    for (uint32_t sweep = 0; sweep < sweeps; sweep++) {
        start_sweep(&d, &b);
        for (size_t c = 0; c < tracks; c++)
            sweep_track(&d, &b, c, q);
    }
    return KP_OK;
}
