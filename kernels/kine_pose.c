/*
 * From the levels of one `kine` segment to its tracks (dequantisation, inverse DCT-II per block, prediction between
 * tracks, offsets), and from tracks to channels (rotation vectors to quaternions or Euler angles). Runs after the last symbol is decoded; additions and multiplications in a fixed order, so that
 * every build returns the same bits.
 */
#include "kine.h"
#include "sincos.h"

static const double quarter_turn = 1.57079632679489661923;

/* Square root by Newton's method from a power of two near it; exact to the last place or next to it. */
static double square_root(double x)
{
    kp_double_bits bits;
    if (!(x > 0))
        return 0;
    bits.f = x;
    bits.u = (bits.u >> 1) + ((uint64_t)511 << 52);
    double r = bits.f;
    for (int i = 0; i < 6; i++)
        r = 0.5 * (r + x / r);
    return r;
}

/* waves[row * half + t] = sqrt(2 / n) cos(pi (2 t + 1) row / (2 n)) for the first half of the frames; the second half
 * mirrors it, with the sign of (-1)^row. table[n + 1] is scratch. */
static void fill_waves(size_t n, size_t rows, double *table, double *waves)
{
    size_t half = (n + 1) / 2;
    double scale = square_root(2.0 / (double)n), sine;
    for (size_t i = 0; i <= n; i++) {
        kp_sincos_one(quarter_turn * (double)i / (double)n, &sine, table + i);
        table[i] *= scale;
    }
    table[n] = 0;
    for (size_t row = 0; row < rows; row++)
        for (size_t t = 0; t < half; t++) {
            size_t angle = (2 * t + 1) * row % (4 * n);
            if (angle > 2 * n)
                angle = 4 * n - angle;
            waves[row * half + t] = angle > n ? -table[2 * n - angle] : table[angle];
        }
    for (size_t t = 0; t < half; t++)
        waves[t] = square_root(1.0 / (double)n);
}

static size_t rows_used(const int32_t *q, size_t rows, size_t tracks)
{
    for (size_t i = rows * tracks; i > 0; i--)
        if (q[i - 1])
            return (i - 1) / tracks + 1;
    return 0;
}

/* One track of one block: even rows are symmetric in time, odd rows antisymmetric. */
static void synthesise_track(const int32_t *q, size_t used, size_t n, size_t tracks, double step, const double *waves,
                             double *even, double *odd, double *out)
{
    size_t half = (n + 1) / 2;
    for (size_t t = 0; t < half; t++)
        even[t] = odd[t] = 0;
    for (size_t row = 0; row < used; row++) {
        int32_t level = q[row * tracks];
        if (!level)
            continue;
        double value = step * level, *sum = row & 1 ? odd : even;
        const double *wave = waves + row * half;
        for (size_t t = 0; t < half; t++)
            sum[t] += value * wave[t];
    }
    for (size_t t = 0; t < half; t++) {
        out[t] = even[t] + odd[t];
        out[n - 1 - t] = even[t] - odd[t];
    }
    if (n & 1)
        out[half - 1] = even[half - 1];
}

/* Track c goes to row places[c] of out[rows * frames]. Track c of the prediction has regressors [starts[c], starts[c + 1]) among earlier tracks.
 * scratch has 1025 + 1024 + 512 * 1024 doubles at most: n + 1 + 2 half + used rows * half of the longest block. */
int32_t kp_kine_synthesise(const int32_t *q, size_t frames, size_t tracks, const uint32_t *lengths, size_t blocks,
                           const double *steps, const double *offsets, const uint32_t *starts,
                           const uint32_t *regressors, const double *weights, const uint32_t *places, double *scratch,
                           size_t scratch_size, double *out)
{
    size_t at = 0;
    for (size_t b = 0; b < blocks; b++) {
        size_t n = lengths[b], half = (n + 1) / 2;
        if (n < 1 || n > KP_KINE_ROWS_MAX || n > frames - at)
            return KP_ARGUMENT;
        const int32_t *levels = q + at * tracks;
        size_t used = rows_used(levels, n, tracks);
        size_t rows = used ? used : 1;
        if (scratch_size < n + 1 + 2 * half + rows * half)
            return KP_ARGUMENT;
        double *even = scratch + n + 1, *odd = even + half, *waves = odd + half;
        fill_waves(n, rows, scratch, waves);
        for (size_t c = 0; c < tracks; c++)
            synthesise_track(levels + c, used, n, tracks, steps[c], waves, even, odd,
                             out + places[c] * frames + at);
        at += n;
    }
    if (at != frames)
        return KP_ARGUMENT;
    for (size_t c = 0; c < tracks; c++)
        for (uint32_t r = starts[c]; r < starts[c + 1]; r++) {
            if (regressors[r] >= c)
                return KP_ARGUMENT;
            const double *from = out + places[regressors[r]] * frames;
            double *to = out + places[c] * frames, weight = weights[r];
            for (size_t t = 0; t < frames; t++)
                to[t] += weight * from[t];
        }
    for (size_t c = 0; c < tracks; c++)
        for (size_t t = 0; t < frames; t++)
            out[places[c] * frames + t] += offsets[c];
    return KP_OK;
}

/* ---- tracks to channels --------------------------------------------------------------------------------------- */

enum { FORM_VECTOR, FORM_EULER, FORM_HEADING };
enum { INTO_EULER, INTO_QUATERNION, INTO_VECTOR };

static const double pi = 3.14159265358979323846;

/* sin(x) / x and cos(x) of x given by its square: series near zero, doubled as often as needed. */
static inline void sinc_cos(double square, double *sinc, double *cosine)
{
    int doublings = 0;
    while (square > 0.6 && doublings < 40) {
        square *= 0.25;
        doublings++;
    }
    double z = square;
    double s = 1 - z * (1.0 / 6 - z * (1.0 / 120 - z * (1.0 / 5040 - z * (1.0 / 362880 - z * (1.0 / 39916800 -
               z * (1.0 / 6227020800 - z * (1.0 / 1307674368000)))))));
    double c = 1 - z * (1.0 / 2 - z * (1.0 / 24 - z * (1.0 / 720 - z * (1.0 / 40320 - z * (1.0 / 3628800 -
               z * (1.0 / 479001600 - z * (1.0 / 87178291200)))))));
    for (; doublings > 0; doublings--) {
        s *= c;
        c = 2 * c * c - 1;
    }
    *sinc = s;
    *cosine = c;
}

/* fdlibm's polynomial for |t| <= tan(pi / 8), to which two reflections lead. */
static inline double arc_tangent(double y, double x)
{
    double ay = y < 0 ? -y : y, ax = x < 0 ? -x : x;
    int steep = ay > ax;
    double low = steep ? ax : ay, high = steep ? ay : ax, base = 0, t;
    if (high == 0)
        return 0;
    if (low > 0.41421356237309503 * high) {
        t = (low - high) / (low + high);
        base = pi / 4;
    } else {
        t = low / high;
    }
    double z = t * t, w = z * z;
    double s1 = z * (3.33333333333329318027e-01 +
                     w * (1.42857142725034663711e-01 +
                          w * (9.09088713343650656196e-02 +
                               w * (6.66107313738753120669e-02 + w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02)))));
    double s2 = w * (-1.99999999998764832476e-01 +
                     w * (-1.11111104054623557880e-01 +
                          w * (-7.69187620504482999495e-02 + w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02))));
    double angle = base + (t - t * (s1 + s2));
    if (steep)
        angle = pi / 2 - angle;
    if (x < 0)
        angle = pi - angle;
    return y < 0 ? -angle : angle;
}

static inline void multiply(const double *a, const double *b, double *out)
{
    out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

static inline void exponential(const double *vector, double *out)
{
    double sinc, square = vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2];
    sinc_cos(0.25 * square, &sinc, out + 3);
    for (int i = 0; i < 3; i++)
        out[i] = 0.5 * sinc * vector[i];
}

/* Numbers of a form to a quaternion; form FORM_HEADING + axis is heading about the axis, then the tilt. */
static inline void turn_quaternion(const double *numbers, int32_t form, const double *rest, double *out)
{
    double turned[4];
    if (form < FORM_HEADING) {
        exponential(numbers, turned);
        multiply(rest, turned, out);
        return;
    }
    int axis = form - FORM_HEADING, first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    double tilt[3] = {0}, heading[4] = {0}, turn[3] = {0};
    turn[axis] = numbers[0];
    exponential(turn, heading);
    tilt[first] = numbers[1];
    tilt[second] = numbers[2];
    exponential(tilt, turned);
    multiply(heading, turned, out);
}

/* Euler angles of Ri(a) Rj(b) Rk(c), as matrix_to_euler in math/rotation.py has them. */
static inline void euler_angles(const double *q, const int32_t *axes, double *out)
{
    int i = axes[0], j = axes[1], k = axes[2];
    double sign = (i + 1) % 3 == j ? 1 : -1;
    double xi = q[i], xj = q[j], xk = q[k] * sign, w = q[3];
    /* The matrix in the basis (i, j, sign k), which is right-handed. */
    double scale = 2 / (xi * xi + xj * xj + xk * xk + w * w);
    double ik = scale * (xi * xk + xj * w);
    double ji = scale * (xi * xj + xk * w), jj = 1 - scale * (xi * xi + xk * xk), jk = scale * (xj * xk - xi * w);
    double ki = scale * (xi * xk - xj * w), kj = scale * (xj * xk + xi * w), kk = 1 - scale * (xi * xi + xj * xj);
    double first = arc_tangent(-jk, kk), s, c;
    kp_sincos_one(first, &s, &c);
    double rest_kk = c * kk - s * jk, rest_ji = c * ji + s * ki, rest_jj = c * jj + s * kj;
    out[0] = first;
    out[1] = arc_tangent(ik, rest_kk);
    out[2] = sign * arc_tangent(rest_ji, rest_jj);
}

/* The whole turns that bring an angle nearest to the one before. */
static inline double nearest(double angle, double before)
{
    double turns = (angle - before) * (0.5 / pi), round_by = 6755399441055744.0;
    if (!(turns > -1e9 && turns < 1e9))
        return angle;
    return angle - 2 * pi * ((turns + round_by) - round_by);
}

/* (a, b, c) and (a + pi, pi - b, c + pi) are one rotation: takes the one nearer to the frame before. */
static inline void continue_angles(double *angles, const double *before)
{
    double twin[3] = {angles[0] + pi, pi - angles[1], angles[2] + pi}, stay = 0, leave = 0;
    for (int i = 0; i < 3; i++) {
        angles[i] = nearest(angles[i], before[i]);
        twin[i] = nearest(twin[i], before[i]);
        stay += (angles[i] - before[i]) * (angles[i] - before[i]);
        leave += (twin[i] - before[i]) * (twin[i] - before[i]);
    }
    if (leave < stay)
        for (int i = 0; i < 3; i++)
            angles[i] = twin[i];
}

/* turn: form, three places of its numbers among its tracks, target, four channels, three Euler axes, first track. */
static void pose_turn(const double *tracks, size_t frames, size_t channels, const int32_t *turn, const double *rest,
                      double per_angle, double *out)
{
    const double *rows = tracks + (size_t)turn[12] * frames;
    double before[3] = {0};
    for (size_t t = 0; t < frames; t++) {
        double numbers[3], q[4], *line = out + t * channels;
        for (int i = 0; i < 3; i++)
            numbers[i] = rows[(size_t)turn[1 + i] * frames + t];
        if (turn[4] == INTO_VECTOR || turn[0] == FORM_EULER) {
            double scale = turn[4] == INTO_VECTOR ? 1 : per_angle;
            for (int i = 0; i < 3; i++)
                line[turn[5 + i]] = numbers[i] * scale;
            continue;
        }
        turn_quaternion(numbers, turn[0], rest, q);
        if (turn[4] == INTO_QUATERNION) {
            for (int i = 0; i < 4; i++)
                line[turn[5 + i]] = q[i];
            continue;
        }
        double angles[3];
        euler_angles(q, turn + 9, angles);
        if (t > 0)
            continue_angles(angles, before);
        for (int i = 0; i < 3; i++) {
            before[i] = angles[i];
            line[turn[5 + i]] = angles[i] * per_angle;
        }
    }
}

/* values[frames * channels] from tracks[rows * frames]. turns[turn_count * 13] and rests[turn_count * 4] as pose_turn
 * reads them; plain[plain_count * 2] is track and channel, scales[plain_count * 2] factor and value at rest. The caller
 * has checked all indices. */
int32_t kp_kine_pose(const double *tracks, size_t frames, size_t channels, const int32_t *turns, const double *rests,
                     size_t turn_count, const int32_t *plain, const double *scales, size_t plain_count,
                     double per_angle, double *values)
{
    for (size_t i = 0; i < turn_count; i++)
        pose_turn(tracks, frames, channels, turns + 13 * i, rests + 4 * i, per_angle, values);
    for (size_t i = 0; i < plain_count; i++) {
        const double *row = tracks + (size_t)plain[2 * i] * frames;
        double *column = values + plain[2 * i + 1], factor = scales[2 * i], rest = scales[2 * i + 1];
        for (size_t t = 0; t < frames; t++)
            column[t * channels] = row[t] * factor + rest;
    }
    return KP_OK;
}
