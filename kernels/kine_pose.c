/*
 * From the tracks of one `kine` segment to its channels: rotation vectors, or heading and tilt, to quaternions or Euler
 * angles. Additions, multiplications and divisions in a fixed order, so that every build returns the same bits; loops
 * over CHUNK frames without branches, which compilers turn into vector code.
 */
#include "kine.h"
#include "sincos.h"

enum { FORM_VECTOR, FORM_EULER, FORM_HEADING };
enum { INTO_EULER, INTO_QUATERNION, INTO_VECTOR };

#define CHUNK 64u
#define LONGEST_SQUARE 9.87 /* of half a rotation's angle, a little over pi^2 */

static const double pi = 3.14159265358979323846;

typedef struct {
    double x[CHUNK], y[CHUNK], z[CHUNK], w[CHUNK];
} quaternions;

/* sin(x) / x and cos(x) by their series, z = x^2 up to 0.62. */
static inline void near_zero(double z, double *sinc, double *cosine)
{
    *sinc = 1 - z * (1.0 / 6 - z * (1.0 / 120 - z * (1.0 / 5040 - z * (1.0 / 362880 - z * (1.0 / 39916800 -
            z * (1.0 / 6227020800 - z * (1.0 / 1307674368000)))))));
    *cosine = 1 - z * (1.0 / 2 - z * (1.0 / 24 - z * (1.0 / 720 - z * (1.0 / 40320 - z * (1.0 / 3628800 -
              z * (1.0 / 479001600 - z * (1.0 / 87178291200)))))));
}

/* sin(x) / x and cos(x) of x given by its square, however large. */
static void sinc_cos(double square, double *sinc, double *cosine)
{
    int doublings = 0;
    while (square > 0.6 && doublings < 40) {
        square *= 0.25;
        doublings++;
    }
    near_zero(square, sinc, cosine);
    for (; doublings > 0; doublings--) {
        *sinc *= *cosine;
        *cosine = 2 * *cosine * *cosine - 1;
    }
}

/* Quaternions of rotation vectors, all by a quarter of the angle, doubled twice; longer ones apart. */
static void exponentials(const double *const numbers[3], size_t count, quaternions *restrict out)
{
    const double *a = numbers[0], *b = numbers[1], *c = numbers[2];
    for (size_t t = 0; t < count; t++) {
        double sinc, cosine, square = 0.25 * (a[t] * a[t] + b[t] * b[t] + c[t] * c[t]);
        near_zero(0.0625 * square, &sinc, &cosine);
        sinc *= cosine;
        cosine = 2 * cosine * cosine - 1;
        sinc *= 0.5 * cosine;
        out->x[t] = sinc * a[t];
        out->y[t] = sinc * b[t];
        out->z[t] = sinc * c[t];
        out->w[t] = 2 * cosine * cosine - 1;
    }
    for (size_t t = 0; t < count; t++) {
        double sinc, square = 0.25 * (a[t] * a[t] + b[t] * b[t] + c[t] * c[t]);
        if (!(square > LONGEST_SQUARE))
            continue;
        sinc_cos(square, &sinc, out->w + t);
        out->x[t] = 0.5 * sinc * a[t];
        out->y[t] = 0.5 * sinc * b[t];
        out->z[t] = 0.5 * sinc * c[t];
    }
}

/* rest times each. */
static void after_rest(const double *rest, size_t count, quaternions *q)
{
    if (rest[0] == 0 && rest[1] == 0 && rest[2] == 0 && rest[3] == 1)
        return;
    for (size_t t = 0; t < count; t++) {
        double x = q->x[t], y = q->y[t], z = q->z[t], w = q->w[t];
        q->x[t] = rest[3] * x + rest[0] * w + rest[1] * z - rest[2] * y;
        q->y[t] = rest[3] * y - rest[0] * z + rest[1] * w + rest[2] * x;
        q->z[t] = rest[3] * z + rest[0] * y - rest[1] * x + rest[2] * w;
        q->w[t] = rest[3] * w - rest[0] * x - rest[1] * y - rest[2] * z;
    }
}

/* Heading about an axis, then the tilt, whose rotation vector has the other two components. */
static void heading_and_tilt(const double *const numbers[3], int32_t axis, size_t count, quaternions *restrict out)
{
    static const double nothing[CHUNK] = {0};
    int32_t first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    const double *tilt[3];
    tilt[axis] = nothing;
    tilt[first] = numbers[1];
    tilt[second] = numbers[2];
    exponentials(tilt, count, out);
    for (size_t t = 0; t < count; t++) {
        double turn[4] = {0}, sinc, x = out->x[t], y = out->y[t], z = out->z[t], w = out->w[t];
        sinc_cos(0.25 * numbers[0][t] * numbers[0][t], &sinc, turn + 3);
        turn[axis] = 0.5 * sinc * numbers[0][t];
        out->x[t] = turn[3] * x + turn[0] * w + turn[1] * z - turn[2] * y;
        out->y[t] = turn[3] * y - turn[0] * z + turn[1] * w + turn[2] * x;
        out->z[t] = turn[3] * z + turn[0] * y - turn[1] * x + turn[2] * w;
        out->w[t] = turn[3] * w - turn[0] * x - turn[1] * y - turn[2] * z;
    }
}

/* fdlibm's polynomial for |t| <= tan(pi / 8), to which two reflections lead; 0 for (0, 0). */
static inline double arc_tangent(double y, double x)
{
    double ay = y < 0 ? -y : y, ax = x < 0 ? -x : x;
    double low = ay > ax ? ax : ay, high = ay > ax ? ay : ax;
    double apart = low - high, both = low + high, limit = 0.41421356237309503 * high;
    double above = low > limit ? apart : low, below = low > limit ? both : high;
    double t = above / (below > 0 ? below : 1), z = t * t, w = z * z;
    double s1 = z * (3.33333333333329318027e-01 +
                     w * (1.42857142725034663711e-01 +
                          w * (9.09088713343650656196e-02 +
                               w * (6.66107313738753120669e-02 + w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02)))));
    double s2 = w * (-1.99999999998764832476e-01 +
                     w * (-1.11111104054623557880e-01 +
                          w * (-7.69187620504482999495e-02 + w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02))));
    double angle = (low > limit ? pi / 4 : 0) + (t - t * (s1 + s2));
    double steep = pi / 2 - angle;
    angle = ay > ax ? steep : angle;
    double behind = pi - angle;
    angle = x < 0 ? behind : angle;
    return y < 0 ? -angle : angle;
}

/* Newton's method for 1 / sqrt(x), by multiplications alone; 0 stays 0. */
static inline double square_root(double x)
{
    kp_double_bits bits;
    bits.f = x;
    bits.u = (uint64_t)0x5FE6EB50C7B537A9u - (bits.u >> 1);
    double r = bits.f, half = 0.5 * x;
    r = r * (1.5 - half * r * r);
    r = r * (1.5 - half * r * r);
    r = r * (1.5 - half * r * r);
    r = r * (1.5 - half * r * r);
    return x * r;
}

/* The whole turns nearest to an angle, taken off. */
static inline double wrapped(double angle)
{
    const double round_by = 6755399441055744.0;
    double turns = angle * (0.5 / pi);
    return angle - 2 * pi * ((turns + round_by) - round_by);
}

/* Angles of Ri(a) Rj(b) Rk(c), a and c within half a turn, b within a quarter. The quaternion of the product gives
 * (a + c) / 2 and (a - c) / 2 as arguments of two complex numbers, whose sizes are as cos b/2 +- sin b/2. */
static void euler_angles(const quaternions *restrict q, const int32_t *axes, size_t count,
                         double (*restrict angles)[CHUNK])
{
    const double *parts[3] = {q->x, q->y, q->z};
    const double *qi = parts[axes[0]], *qj = parts[axes[1]], *qk = parts[axes[2]], *qw = q->w;
    double sign = (axes[0] + 1) % 3 == axes[1] ? 1 : -1;
    for (size_t t = 0; t < count; t++) {
        double i = qi[t], j = qj[t], k = sign * qk[t], w = qw[t];
        double plus = (i + k) * (i + k) + (w + j) * (w + j), minus = (i - k) * (i - k) + (w - j) * (w - j);
        double sum = arc_tangent(i + k, w + j), difference = arc_tangent(i - k, w - j);
        angles[0][t] = wrapped(sum + difference);
        angles[1][t] = 2 * arc_tangent(plus, square_root(plus * minus)) - pi / 2;
        angles[2][t] = sign * wrapped(sum - difference);
    }
}

/* The whole turns that bring an angle nearest to another one. */
static inline double nearest(double angle, double to)
{
    double turns = (angle - to) * (0.5 / pi), round_by = 6755399441055744.0;
    if (!(turns > -1e9 && turns < 1e9))
        return angle;
    return angle - 2 * pi * ((turns + round_by) - round_by);
}

/* (a, b, c) and (a + pi, pi - b, c + pi) are one rotation: takes the one nearer to another triple. */
static inline void toward(double *angles, const double *to)
{
    double twin[3] = {angles[0] + pi, pi - angles[1], angles[2] + pi}, stay = 0, leave = 0;
    for (int i = 0; i < 3; i++) {
        angles[i] = nearest(angles[i], to[i]);
        twin[i] = nearest(twin[i], to[i]);
        stay += (angles[i] - to[i]) * (angles[i] - to[i]);
        leave += (twin[i] - to[i]) * (twin[i] - to[i]);
    }
    if (leave < stay)
        for (int i = 0; i < 3; i++)
            angles[i] = twin[i];
}

static void store(const double *numbers, size_t count, double scale, size_t channels, double *out)
{
    for (size_t t = 0; t < count; t++)
        out[t * channels] = numbers[t] * scale;
}

/* turn: form, three places of its numbers among its tracks, target, four channels, three Euler axes, first track. With
 * `continuous` Euler angles go on from the frame before, else they are principal ones. */
static void pose_turn(const double *tracks, size_t stride, size_t frames, size_t channels, const int32_t *turn,
                      const double *rest, double per_angle, uint32_t continuous, double *out)
{
    quaternions q;
    double angles[3][CHUNK], before[3] = {0};
    for (size_t at = 0; at < frames; at += CHUNK) {
        size_t count = frames - at < CHUNK ? frames - at : CHUNK;
        const double *numbers[3];
        double *values = out + at * channels;
        for (int i = 0; i < 3; i++)
            numbers[i] = tracks + ((size_t)turn[12] + (size_t)turn[1 + i]) * stride + at;
        if (turn[4] == INTO_VECTOR || turn[0] == FORM_EULER) {
            for (int i = 0; i < 3; i++)
                store(numbers[i], count, turn[4] == INTO_VECTOR ? 1 : per_angle, channels, values + turn[5 + i]);
            continue;
        }
        if (turn[0] < FORM_HEADING) {
            exponentials(numbers, count, &q);
            after_rest(rest, count, &q);
        } else {
            heading_and_tilt(numbers, turn[0] - FORM_HEADING, count, &q);
        }
        if (turn[4] == INTO_QUATERNION) {
            const double *parts[4] = {q.x, q.y, q.z, q.w};
            for (int i = 0; i < 4; i++)
                store(parts[i], count, 1, channels, values + turn[5 + i]);
            continue;
        }
        euler_angles(&q, turn + 9, count, angles);
        for (size_t t = 0; continuous && t < count; t++) {
            double own[3] = {angles[0][t], angles[1][t], angles[2][t]};
            if (at + t > 0)
                toward(own, before);
            for (int i = 0; i < 3; i++)
                before[i] = angles[i][t] = own[i];
        }
        for (int i = 0; i < 3; i++)
            store(angles[i], count, per_angle, channels, values + turn[5 + i]);
    }
}

int32_t kp_kine_pose(const double *tracks, size_t stride, size_t frames, size_t channels, const int32_t *turns,
                     const double *rests, size_t turn_count, const int32_t *plain, const double *scales,
                     size_t plain_count, double per_angle, uint32_t continuous, double *values)
{
    for (size_t i = 0; i < turn_count; i++)
        pose_turn(tracks, stride, frames, channels, turns + 13 * i, rests + 4 * i, per_angle, continuous, values);
    for (size_t i = 0; i < plain_count; i++) {
        const double *row = tracks + (size_t)plain[2 * i] * stride;
        double *column = values + plain[2 * i + 1], factor = scales[2 * i], rest = scales[2 * i + 1];
        for (size_t t = 0; t < frames; t++)
            column[t * channels] = row[t] * factor + rest;
    }
    return KP_OK;
}

/* branch: first frame, the frame after the last, number of angles (1 or 3), three channels, three anchors in quarter
 * turns. The angles become those of the same rotation that are nearest to the anchors. */
int32_t kp_kine_branches(double *values, size_t frames, size_t channels, const int32_t *branches, size_t count,
                         double per_angle)
{
    for (size_t b = 0; b < count; b++) {
        const int32_t *branch = branches + 9 * b;
        double to[3];
        for (int i = 0; i < 3; i++)
            to[i] = 0.5 * pi * branch[6 + i];
        if (branch[0] < 0 || branch[0] > branch[1] || (size_t)branch[1] > frames)
            return KP_ARGUMENT;
        for (size_t t = (size_t)branch[0]; t < (size_t)branch[1]; t++) {
            double *line = values + t * channels, angles[3] = {0};
            for (int i = 0; i < branch[2]; i++)
                angles[i] = line[branch[3 + i]] / per_angle;
            if (branch[2] == 3)
                toward(angles, to);
            else
                angles[0] = nearest(angles[0], to[0]);
            for (int i = 0; i < branch[2]; i++)
                line[branch[3 + i]] = angles[i] * per_angle;
        }
    }
    return KP_OK;
}
