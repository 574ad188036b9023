// Algorithm 1 of ldp-sgd on Huber regression with Mallows weights and a joint scale (configs/linear_d5.yaml and _d20): 20
// settings (4 step sizes, 5 budgets) that share covariates, responses and unit noise; eight replicates side by side (four
// where vectors are shorter).
//
// A careful loop, compiled without -ffast-math. Normals are made like the engine's. No step waits for its own division: the
// prediction for the next user is summed up while this user's update is in registers, and the quotient is used when the
// other settings are done. That is where it gains on the engine, and a block stays within the nearest cache for d = 20. No
// metrics, no files; step sizes are computed before the clock starts, as the engine keeps them.
//
//     ldp_sgd D USERS GROUPS SEED NOISE
//
// prints CPU nanoseconds per replicate and step, of all settings, and for every group of replicates the mean squared
// distances of the last iterates [20] and of the averages [20] from the optimum. NOISE multiplies the noise: 1 is right.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "random.hpp"

#define INLINE __attribute__((always_inline)) static inline
#ifdef __AVX512F__
constexpr int LANES = 8;
#else
constexpr int LANES = 4;  // wider vectors than the processor's are slow
#endif
constexpr int ALPHAS = 4, BUDGETS = 5, SETTINGS = ALPHAS * BUDGETS, BLOCK = 128;
typedef double Lanes __attribute__((vector_size(8 * LANES)));
typedef uint64_t Words __attribute__((vector_size(8 * LANES)));

INLINE Lanes all(double value) { return Lanes{} + value; }
INLINE Lanes least(Lanes a, Lanes b) {
#ifdef __AVX512F__
    return _mm512_min_pd(a, b);  // the same in one instruction, of which the compiler makes two
#else
    return a < b ? a : b;
#endif
}
INLINE Lanes largest(Lanes a, Lanes b) {
#ifdef __AVX512F__
    return _mm512_max_pd(a, b);
#else
    return a > b ? a : b;
#endif
}

INLINE Lanes root(Lanes a) {
    Lanes found;
    for (int lane = 0; lane < LANES; lane++) found[lane] = std::sqrt(a[lane]);
    return found;
}

constexpr uint64_t ONE = 0x3FF0000000000000, SIGN = 0x8000000000000000;  // the bits of 1.0, and of a minus
INLINE Lanes unit(Words bits) { return 2.0 - (Lanes)((bits >> 12) | ONE); }  // uniform in (0, 1]

INLINE Lanes logarithm(Lanes x) {  // x = 2^k m with m around 1; log m = 2 artanh f for f = (m - 1) / (m + 1)
    const Words bits = (Words)x;
    Lanes m = (Lanes)((bits & 0x000FFFFFFFFFFFFF) | ONE), k = (Lanes)((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
    const auto large = m > 1.4142135623730951;
    m = large ? m * 0.5 : m;
    k = large ? k + 1.0 : k;
    const Lanes f = (m - 1.0) / (m + 1.0), s = f * f;
    Lanes series = all(1 / 19.);
    for (int odd = 17; odd > 1; odd -= 2) series = series * s + 1.0 / odd;
    return k * 0.6931471805599453 + (2.0 * f + 2.0 * f * s * series);
}

// Standard normals by Box and Muller, an even number of rows; the angle is in an eighth of the circle, then reflected.
__attribute__((noinline)) static void normals(Xoshiro<Words>& streams, Lanes* out, int rows) {
    constexpr double SINE[] = {1 / 6227020800., -1 / 39916800., 1 / 362880., -1 / 5040., 1 / 120., -1 / 6.};
    constexpr double COSINE[] = {-1 / 87178291200., 1 / 479001600., -1 / 3628800., 1 / 40320., -1 / 720., 1 / 24., -.5, 1};
    Xoshiro<Words> own = streams;  // in registers
    for (int row = 0; row < rows; row += 2) {
        const Words a = own.next(), b = own.next();
        const Lanes radius = root(-2.0 * logarithm(unit(a))), x = unit(b) * 0.7853981633974483, y = x * x;
        Lanes sine = all(-1 / 1307674368000.), cosine = all(1 / 20922789888000.);
        for (double c : SINE) sine = sine * y + c;
        for (double c : COSINE) cosine = cosine * y + c;
        sine = x + x * y * sine;
        const auto swap = (b & 1) != 0;
        out[row] = (Lanes)((Words)(radius * (swap ? sine : cosine)) ^ ((b << 62) & SIGN));
        out[row + 1] = (Lanes)((Words)(radius * (swap ? cosine : sine)) ^ ((b << 61) & SIGN));
    }
    streams = own;
}

INLINE Lanes score_of(Lanes residual, Lanes scale) { return least(largest(residual / scale, all(-1.345)), all(1.345)); }

// The first `users` of a block through COUNT settings. Parameters: intercept, D coefficients, scale. `rate`: [users, ALPHAS].
template <int D, int COUNT>
__attribute__((noinline)) static void steps(int users, const Lanes* __restrict x, const Lanes* __restrict y,
                                            const Lanes* __restrict weight, const Lanes* __restrict noise,
                                            const double* __restrict rate, const double* __restrict noise_sd,
                                            Lanes* __restrict theta, Lanes* __restrict total) {
    constexpr int P = D + 2;
    Lanes score[COUNT];
    for (int k = 0; k < COUNT; k++) {
        Lanes residual = y[0] - theta[k * P];
        for (int j = 1; j <= D; j++) residual -= theta[k * P + j] * x[j - 1];
        score[k] = score_of(residual, theta[k * P + P - 1]);
    }
    for (int user = 0; user < users; user++, x += D, noise += P, rate += ALPHAS)
        for (int k = 0; k < COUNT; k++) {
            Lanes *own = theta + k * P, *sums = total + k * P;
            const double step = rate[k / BUDGETS];
            const Lanes sd = all(step * noise_sd[k]), weighted = step * weight[user], gain = weighted * score[k];
            Lanes next = own[0] + sd * noise[0] + gain, residual = y[user + 1] - next, rest{};  // two sums at a time
            own[0] = next;
            sums[0] += next;
#pragma GCC unroll 32
            for (int j = 1; j <= D; j++) {
                next = own[j] + sd * noise[j] + gain * x[j - 1];
                own[j] = next;
                sums[j] += next;
                (j % 2 ? rest : residual) -= next * x[D + j - 1];
            }
            const Lanes half = 0.5 * 0.710164548269 - 0.5 * score[k] * score[k];
            next = largest(own[P - 1] + sd * noise[P - 1] - weighted * half, all(0.1));
            own[P - 1] = next;
            sums[P - 1] += next;
            score[k] = score_of(residual + rest, next);
        }
}

static double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

// Mean over settings' lanes of the squared distance of values / divisor from the optimum: ones, and 2 for the scale.
template <int P>
static void print_distances(const std::vector<Lanes>& values, double divisor) {
    for (int k = 0; k < SETTINGS; k++) {
        Lanes square{};
        for (int j = 0; j < P; j++) {
            const Lanes error = values[k * P + j] / divisor - (j == P - 1 ? 2.0 : 1.0);
            square += error * error;
        }
        double sum = 0;
        for (int lane = 0; lane < LANES; lane++) sum += square[lane];
        printf("%.17g ", sum / LANES);
    }
}

template <int D>
static void run(int users, int groups, uint64_t seed, double factor) {
    constexpr int P = D + 2, TOGETHER = D > 10 ? SETTINGS / 2 : SETTINGS;  // whose iterates and sums fit into 48 kB
    const double alphas[] = {1 / 3., 1 / 2., 2 / 3., 1.}, budgets[] = {.5, 1, 2, 3, INFINITY};
    std::vector<double> rate(size_t(users) * ALPHAS), noise_sd(SETTINGS);
    for (int i = 0; i < users; i++)
        for (int a = 0; a < ALPHAS; a++) rate[size_t(i) * ALPHAS + a] = 0.2 * std::pow(i + 1, -alphas[a]);
    for (int k = 0; k < SETTINGS; k++) noise_sd[k] = factor * 3.910286800563 / budgets[k % BUDGETS];
    Xoshiro<Words> streams;
    for (auto& words : streams.s)
        for (int lane = 0; lane < LANES; lane++) words[lane] = splitmix64(seed);
    std::vector<std::vector<Lanes>> last, sum;
    const double begin = cpu_seconds();
    for (int group = 0; group < groups; group++) {
        // one user more than a block has, whose prediction is not used
        std::vector<Lanes> x((BLOCK + 1) * D), y(BLOCK + 1), weight(BLOCK), noise(BLOCK * P), theta(SETTINGS * P), total(theta);
        for (int k = 0; k < SETTINGS; k++) theta[k * P + P - 1] = all(1);
        for (int first = 0; first < users; first += BLOCK) {
            normals(streams, x.data(), BLOCK * D);
            normals(streams, y.data(), BLOCK);
            normals(streams, noise.data(), BLOCK * P);
            for (int user = 0; user < BLOCK; user++) {
                Lanes square = all(1), response = 1.0 + 2.0 * y[user];
                for (const Lanes* own = &x[user * D]; own < &x[user * D + D]; own++) {
                    square += *own * *own;
                    response += *own;
                }
                y[user] = response;
                weight[user] = least(all(1), 2.0 / square);
            }
            for (int k = 0; k < SETTINGS; k += TOGETHER)
                steps<D, TOGETHER>(users - first < BLOCK ? users - first : BLOCK, x.data(), y.data(), weight.data(),
                                   noise.data(), &rate[size_t(first) * ALPHAS + k / BUDGETS], &noise_sd[k], &theta[k * P],
                                   &total[k * P]);
        }
        last.push_back(theta);
        sum.push_back(total);
    }
    printf("%.3f\n", (cpu_seconds() - begin) * 1e9 / (double(users) * groups * LANES));
    for (int group = 0; group < groups; group++) {
        print_distances<P>(last[group], 1);
        print_distances<P>(sum[group], users);
        printf("\n");
    }
}

int main(int, char** words) {
    const int d = atoi(words[1]), users = atoi(words[2]), groups = atoi(words[3]);
    (d == 5 ? run<5> : d == 10 ? run<10> : run<20>)(users, groups, strtoull(words[4], nullptr, 10), atof(words[5]));
}
