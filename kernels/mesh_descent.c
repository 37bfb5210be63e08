/*
 * Rate-distortion quantiser of one component of a mesh's weights (docs/codecs/kine-mesh.md, "Quantiser"). Encoder only.
 *
 * Decoding is linear: values = S (steps q). Coordinate descent over q lowers |wanted - S (steps q)|^2 + lambda bits(q).
 * Rows of S are kept sparse: entries below a threshold are left out, and the error is computed anew at each sweep.
 */
#include "range_coder.h"

#define ROW_MAX 40u       /* entries kept of a row of S */
#define SMALLEST 0.02
#define CLASSES 24u
#define MAGNITUDES 16u

typedef struct {
    uint32_t column;
    float value;
} entry;

static inline double size_of(double x)
{
    return x < 0.0 ? -x : x;
}

/* Row v of S: one at v, and the rows of its references weighed by its predictors. dense and touched are scratch. */
static uint32_t influence_row(size_t v, const uint32_t *starts, const uint32_t *refs, const double *predictors,
                              const uint32_t *row_starts, const uint32_t *columns, const float *values, float *dense,
                              uint32_t *touched, uint32_t *out_columns, float *out_values)
{
    uint32_t count = 0, kept = 0;
    for (uint32_t i = starts[v]; i < starts[v + 1]; i++) {
        float weight = (float)predictors[i];
        for (uint32_t k = row_starts[refs[i]]; k < row_starts[refs[i] + 1]; k++) {
            if (dense[columns[k]] == 0.0f)
                touched[count++] = columns[k];
            dense[columns[k]] += weight * values[k] + 1e-30f;
        }
    }
    float least = (float)SMALLEST;
    for (int round = 0; round < 8; round++, least *= 1.5f) {
        kept = 0;
        for (uint32_t i = 0; i < count; i++)
            kept += dense[touched[i]] > least || dense[touched[i]] < -least;
        if (kept < ROW_MAX)
            break;
    }
    kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        float value = dense[touched[i]];
        if ((value > least || value < -least) && kept + 1 < ROW_MAX) {
            out_columns[kept] = touched[i];
            out_values[kept++] = value;
        }
        dense[touched[i]] = 0.0f;
    }
    out_columns[kept] = (uint32_t)v;
    out_values[kept++] = 1.0f;
    return kept;
}

/* S by columns: column_starts[vertices + 1], entries[at most 40 * vertices] with the rows they act on. */
int32_t kp_mesh_influence(size_t vertices, const uint32_t *starts, const uint32_t *refs, const double *predictors,
                          uint32_t *row_starts, uint32_t *columns, float *values, float *dense, uint32_t *touched,
                          uint32_t *column_starts, uint32_t *rows, float *weights)
{
    row_starts[0] = 0;
    for (size_t v = 0; v < vertices; v++) {
        dense[v] = 0.0f;
        column_starts[v + 1] = 0;
    }
    column_starts[0] = 0;
    for (size_t v = 0; v < vertices; v++) {
        uint32_t at = row_starts[v];
        row_starts[v + 1] = at + influence_row(v, starts, refs, predictors, row_starts, columns, values, dense, touched,
                                               columns + at, values + at);
        for (uint32_t k = at; k < row_starts[v + 1]; k++)
            column_starts[columns[k] + 1]++;
    }
    for (size_t v = 0; v < vertices; v++) {
        column_starts[v + 1] += column_starts[v];
        touched[v] = column_starts[v];
    }
    for (size_t v = 0; v < vertices; v++)
        for (uint32_t k = row_starts[v]; k < row_starts[v + 1]; k++) {
            uint32_t slot = touched[columns[k]]++;
            rows[slot] = (uint32_t)v;
            weights[slot] = values[k];
        }
    return KP_OK;
}

static inline uint32_t magnitude(int32_t q)
{
    return q < 0 ? 0u - (uint32_t)q : (uint32_t)q;
}

/* What surrounds v: mean magnitude of its ring and of its own past, in steps that widen. */
static inline uint32_t class_of(size_t v, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                                const int32_t *q, const uint8_t *past)
{
    uint32_t sum = 0, ring = rings[v];
    for (uint32_t i = starts[v]; i < starts[v] + ring; i++)
        sum += magnitude(q[refs[i]]) < 64 ? magnitude(q[refs[i]]) : 64;
    uint32_t mean = (ring ? 8u * sum / ring : 8u) + past[v] / 4u;
    uint32_t c = mean < 12 ? mean : 12u + (31u - (uint32_t)__builtin_clz(mean - 11u)) * 2u;
    return c < CLASSES ? c : CLASSES - 1;
}

/* Bits of each magnitude in each class, from the levels as they are. */
static void learn_costs(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                        const int32_t *q, const uint8_t *past, float costs[CLASSES][MAGNITUDES])
{
    uint32_t counts[CLASSES][MAGNITUDES], total[MAGNITUDES];
    for (uint32_t m = 0; m < MAGNITUDES; m++)
        total[m] = 1;
    for (uint32_t c = 0; c < CLASSES; c++)
        for (uint32_t m = 0; m < MAGNITUDES; m++)
            counts[c][m] = 0;
    for (size_t v = 0; v < vertices; v++) {
        uint32_t m = magnitude(q[v]) < MAGNITUDES ? magnitude(q[v]) : MAGNITUDES - 1;
        counts[class_of(v, starts, refs, rings, q, past)][m]++;
        total[m]++;
    }
    double all = 0.0;
    for (uint32_t m = 0; m < MAGNITUDES; m++)
        all += total[m];
    for (uint32_t c = 0; c < CLASSES; c++) {
        double sum = 0.0;
        for (uint32_t m = 0; m < MAGNITUDES; m++)
            sum += counts[c][m];
        for (uint32_t m = 0; m < MAGNITUDES; m++) {
            double p = (counts[c][m] + 12.0 * total[m] / all) / (sum + 12.0);
            uint32_t scaled = (uint32_t)(p * 65535.0);
            costs[c][m] = (float)(16.0 - kp_log2(scaled ? scaled : 1u) / 4096.0) + (m ? 1.0f : 0.0f);
        }
    }
}

static inline double cost_of(const float *costs, int32_t q)
{
    uint32_t m = magnitude(q);
    if (m < MAGNITUDES - 1)
        return costs[m];
    return costs[MAGNITUDES - 1] + 2.0 * (31 - __builtin_clz(m - MAGNITUDES + 2u));
}

/* Decodes, and leaves wanted - values in error. */
static void residual(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *levels,
                     const double *predictors, const double *steps, const double *wanted, const int32_t *q,
                     double *values, double *error)
{
    for (size_t v = 0; v < vertices; v++) {
        double sum = 0.0;
        for (uint32_t i = starts[v]; i < starts[v + 1]; i++)
            sum += predictors[i] * values[refs[i]];
        values[v] = sum + steps[levels[v]] * q[v];
        error[v] = wanted[v] - values[v];
    }
}

int32_t kp_mesh_descend(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                        const uint8_t *levels, const double *predictors, const double *steps,
                        const uint32_t *column_starts, const uint32_t *rows, const float *weights, const uint8_t *past,
                        double lambda, uint32_t sweeps, const double *wanted, int32_t *q, double *values,
                        double *error)
{
    float costs[CLASSES][MAGNITUDES];
    for (uint32_t sweep = 0; sweep < sweeps; sweep++) {
        residual(vertices, starts, refs, levels, predictors, steps, wanted, q, values, error);
        learn_costs(vertices, starts, refs, rings, q, past, costs);
        for (size_t v = 0; v < vertices; v++) {
            double dot = 0.0, norm = 0.0, step = steps[levels[v]];
            for (uint32_t k = column_starts[v]; k < column_starts[v + 1]; k++) {
                dot += weights[k] * error[rows[k]];
                norm += (double)weights[k] * weights[k];
            }
            double best = q[v] + dot / (norm * step), scale = norm * step * step;
            if (!(size_of(best) < 1e9))
                return KP_ARGUMENT;
            int32_t nearest = (int32_t)(best < 0.0 ? best - 0.5 : best + 0.5), toward = nearest - (best > 0.0) + (best < 0.0);
            int32_t candidates[4] = {nearest, toward, 0, q[v]}, chosen = q[v];
            const float *table = costs[class_of(v, starts, refs, rings, q, past)];
            double least = 1e300;
            for (int i = 0; i < 4; i++) {
                double miss = best - candidates[i], cost = scale * miss * miss + lambda * cost_of(table, candidates[i]);
                if (cost < least) {
                    least = cost;
                    chosen = candidates[i];
                }
            }
            if (chosen == q[v])
                continue;
            double change = (chosen - q[v]) * step;
            q[v] = chosen;
            for (uint32_t k = column_starts[v]; k < column_starts[v + 1]; k++)
                error[rows[k]] -= change * weights[k];
        }
    }
    residual(vertices, starts, refs, levels, predictors, steps, wanted, q, values, error);
    return KP_OK;
}
