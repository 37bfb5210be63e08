/*
 * Prediction of PCA weights through a mesh's hierarchy (docs/codecs/kine-mesh.md, "Prediction").
 *
 * Arrays are in decoding order. Components already decoded are features: a vertex is predicted by the affine combination
 * of its references that best reproduces its features. Plain IEEE doubles in a fixed order without contraction; what
 * is parsed never depends on them.
 */
#include "include/kinepack_kernels.h"

#define FEATURES_MAX 16u
#define REFS_MAX 18u

/* Solves the symmetric positive definite a x = b of order n in place (Cholesky without roots); x replaces b. */
static void solve(double a[FEATURES_MAX][FEATURES_MAX], double *b, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++) {
        double pivot = a[j][j];
        for (uint32_t i = j + 1; i < n; i++) {
            double factor = a[i][j] / pivot;
            for (uint32_t k = j + 1; k <= i; k++)
                a[i][k] -= factor * a[k][j];
        }
        for (uint32_t i = j + 1; i < n; i++)
            b[i] -= a[i][j] / pivot * b[j];
    }
    for (uint32_t i = n; i-- > 0;) {
        double value = b[i] / a[i][i];
        b[i] = value;
        for (uint32_t k = 0; k < i; k++)
            b[k] -= a[i][k] * value;
    }
}

/* Before any feature: the mean of the ring, less `bulge` of the difference to the second ring. */
static void prior(double *out, uint32_t ring, uint32_t count, double bulge)
{
    uint32_t second = count - ring;
    double beta = second ? bulge : 0.0;
    for (uint32_t i = 0; i < ring; i++)
        out[i] = (1.0 + beta) / ring;
    for (uint32_t i = ring; i < count; i++)
        out[i] = -beta / second;
}

/* Adds to out the smallest change, in the metric of the trusts, that reproduces the features: damped least squares. */
static void refine(double *out, const double *features, size_t stride, uint32_t used, size_t vertex,
                   const uint32_t *refs, uint32_t ring, uint32_t count, double damping, double far)
{
    double g[FEATURES_MAX][REFS_MAX], gram[FEATURES_MAX][FEATURES_MAX], miss[FEATURES_MAX];
    double total = 0.0;
    for (uint32_t i = 0; i < count; i++)
        total += i < ring ? 1.0 : far * far;
    for (uint32_t f = 0; f < used; f++) {
        const double *row = features + f * stride;
        double mean = 0.0, predicted = 0.0;
        for (uint32_t i = 0; i < count; i++) {
            double value = row[refs[i]];
            predicted += out[i] * value;
            mean += i < ring ? value : far * far * value;
            g[f][i] = value;
        }
        mean /= total;
        for (uint32_t i = 0; i < count; i++)
            g[f][i] = (g[f][i] - mean) * (i < ring ? 1.0 : far);
        miss[f] = row[vertex] - predicted;
    }
    for (uint32_t a = 0; a < used; a++) {
        for (uint32_t b = 0; b <= a; b++) {
            double sum = 0.0;
            for (uint32_t i = 0; i < count; i++)
                sum += g[a][i] * g[b][i];
            gram[a][b] = sum;
        }
        gram[a][a] += damping;
    }
    solve(gram, miss, used);
    for (uint32_t i = 0; i < count; i++) {
        double change = 0.0;
        for (uint32_t f = 0; f < used; f++)
            change += g[f][i] * miss[f];
        out[i] += change * (i < ring ? 1.0 : far);
    }
}

static int32_t check(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings)
{
    if (starts[0] != 0)
        return KP_ARGUMENT;
    for (size_t v = 0; v < vertices; v++) {
        if (starts[v + 1] < starts[v] || starts[v + 1] - starts[v] > REFS_MAX || rings[v] > starts[v + 1] - starts[v])
            return KP_ARGUMENT;
        if (rings[v] == 0 && starts[v + 1] != starts[v])
            return KP_ARGUMENT;
        for (uint32_t i = starts[v]; i < starts[v + 1]; i++)
            if (refs[i] >= v)
                return KP_ARGUMENT;
    }
    return KP_OK;
}

int32_t kp_mesh_predictors(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                           const double *features, uint32_t used, double bulge, double damping, double far,
                           double *predictors)
{
    int32_t status = check(vertices, starts, refs, rings);
    if (status != KP_OK || used > FEATURES_MAX || !(damping > 0.0))
        return status != KP_OK ? status : KP_ARGUMENT;
    for (size_t v = 0; v < vertices; v++) {
        uint32_t start = starts[v], count = starts[v + 1] - start;
        if (count == 0)
            continue;
        prior(predictors + start, rings[v], count, bulge);
        if (used && count > 1)
            refine(predictors + start, features, vertices, used, v, refs + start, rings[v], count, damping, far);
    }
    return KP_OK;
}

static inline double predict(const double *values, size_t v, const uint32_t *starts, const uint32_t *refs,
                             const double *predictors)
{
    double sum = 0.0;
    for (uint32_t i = starts[v]; i < starts[v + 1]; i++)
        sum += predictors[i] * values[refs[i]];
    return sum;
}

/* values = prediction + steps[level] * q, vertex after vertex. */
int32_t kp_mesh_synthesise(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                           const uint8_t *levels, const double *predictors, const double *steps, const int32_t *q,
                           double *values)
{
    int32_t status = check(vertices, starts, refs, rings);
    if (status != KP_OK)
        return status;
    for (size_t v = 0; v < vertices; v++)
        values[v] = predict(values, v, starts, refs, predictors) + steps[levels[v]] * q[v];
    return KP_OK;
}

/* Closed-loop quantiser: |residual| / step + `rounding`, rounded down. */
int32_t kp_mesh_quantize(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                         const uint8_t *levels, const double *predictors, const double *steps, double rounding,
                         const double *wanted, int32_t *q, double *values)
{
    int32_t status = check(vertices, starts, refs, rings);
    if (status != KP_OK)
        return status;
    for (size_t v = 0; v < vertices; v++) {
        double predicted = predict(values, v, starts, refs, predictors), step = steps[levels[v]];
        double ratio = (wanted[v] - predicted) / step, size = ratio < 0.0 ? -ratio : ratio;
        if (!(size < 1073741824.0))
            return KP_ARGUMENT;
        int32_t level = (int32_t)(size + rounding);
        q[v] = ratio < 0.0 ? -level : level;
        values[v] = predicted + step * q[v];
    }
    return KP_OK;
}

/* q[rows][vertices] of differences to the rounded mean of a vertex's ring -> the sums, each in 0..most. */
int32_t kp_mesh_sum(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings, size_t rows,
                    int32_t most, int32_t *q)
{
    int32_t status = check(vertices, starts, refs, rings);
    if (status != KP_OK || most < 0 || most > 65535)
        return status != KP_OK ? status : KP_ARGUMENT;
    for (size_t j = 0; j < rows; j++, q += vertices)
        for (size_t v = 0; v < vertices; v++) {
            uint32_t sum = 0, ring = rings[v] ? rings[v] : 1;
            for (uint32_t i = starts[v]; i < starts[v] + rings[v]; i++)
                sum += (uint32_t)q[refs[i]];
            int64_t value = (int64_t)q[v] + (2 * sum + ring) / (2 * ring);
            if (value < 0 || value > most)
                return KP_CORRUPT;
            q[v] = (int32_t)value;
        }
    return KP_OK;
}
