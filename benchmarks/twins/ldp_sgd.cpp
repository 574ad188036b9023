// Algorithm 1 of ldp-sgd on Huber regression with Mallows weights and a joint scale (configs/linear_d5.yaml and _d20): 20
// settings (4 step sizes, 5 budgets) that share covariates, responses and unit noise; eight replicates side by side.
// Prints nanoseconds per replicate and step, of all settings, for d = 5 and d = 20. No metrics, no files.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "random.hpp"

constexpr int LANES = 8, SETTINGS = 20, BLOCK = 128;
typedef double Lanes __attribute__((vector_size(8 * LANES)));
typedef uint64_t Words __attribute__((vector_size(8 * LANES)));

static Lanes all(double value) { return Lanes{} + value; }
static Lanes least(Lanes a, Lanes b) { return a < b ? a : b; }
static Lanes largest(Lanes a, Lanes b) { return a > b ? a : b; }

struct Streams : Xoshiro<Words> {  // one stream for each lane
    explicit Streams(uint64_t seed) {
        for (auto& words : s)
            for (int lane = 0; lane < LANES; lane++) words[lane] = splitmix64(seed);
    }

    Lanes uniform() {  // in (0, 1)
        typedef int64_t Whole __attribute__((vector_size(8 * LANES)));
        return (__builtin_convertvector((Whole)(next() >> 12), Lanes) + 0.5) * 0x1p-52;
    }
};

// Standard normals by Box and Muller, an even number of rows; the compiler takes the vector functions of its library.
__attribute__((noinline)) static void normals(Streams& streams, Lanes* out, int rows) {
    for (int row = 0; row < rows; row++) out[row] = streams.uniform();
    const int half = rows / 2 * LANES;
    double *__restrict__ u = reinterpret_cast<double*>(out), *__restrict__ v = u + half;
    for (int i = 0; i < half; i++) {
        const double radius = std::sqrt(-2 * std::log(u[i])), angle = 6.283185307179586 * v[i];
        u[i] = radius * std::cos(angle);
        v[i] = radius * std::cos(angle - 1.5707963267948966);  // a sine; both together have no vector function
    }
}

// One block of users through all settings. Parameters: intercept, D coefficients, scale.
template <int D>
__attribute__((noinline)) static void steps(const Lanes* x, const Lanes* errors, const Lanes* noise, const double* rate,
                                            const double* noise_sd, Lanes* theta, Lanes* total) {
    constexpr int P = D + 2;
    const Lanes c = all(1.345), smallest = all(0.1);
    for (int user = 0; user < BLOCK; user++, x += D, noise += P) {
        Lanes square = all(1), y = 2 * errors[user];
        for (int j = 0; j < D; j++) {
            square += x[j] * x[j];
            y += x[j];
        }
        const Lanes weight = least(all(1), 2 / square);
        for (int k = 0; k < SETTINGS; k++) {
            Lanes *own = theta + k * P, *sums = total + k * P;
            const double step = rate[user * SETTINGS + k], sd = step * noise_sd[k];
            Lanes residual = y - own[0];
            for (int j = 0; j < D; j++) residual -= x[j] * own[1 + j];
            const Lanes scale = own[P - 1], score = least(largest(residual / scale, -c), c);
            const Lanes gain = step * weight * score;
            own[0] += gain + sd * noise[0];
            for (int j = 0; j < D; j++) own[1 + j] += gain * x[j] + sd * noise[1 + j];
            const Lanes moved = scale - step * weight * (0.710164548269 - score * score) * 0.5 + sd * noise[P - 1];
            own[P - 1] = largest(moved, smallest);
            for (int j = 0; j < P; j++) sums[j] += own[j];
        }
    }
}

template <int D>
static double nanoseconds(int blocks) {
    constexpr int P = D + 2, ROWS = D + 1 + P;
    std::vector<Lanes> drawn(BLOCK * ROWS), theta(SETTINGS * P), total(SETTINGS * P);
    std::vector<double> rate(BLOCK * SETTINGS), powers(4 * BLOCK), noise_sd(SETTINGS);
    const double alphas[] = {1 / 3., 1 / 2., 2 / 3., 1.}, budgets[] = {.5, 1, 2, 3, INFINITY};
    for (int k = 0; k < SETTINGS; k++) {
        noise_sd[k] = 3.910286800563 / budgets[k % 5];
        theta[k * P + P - 1] = all(1);
    }
    Streams streams(1);
    double best = INFINITY;
    for (int turn = 0, first = 1; turn < 7; turn++) {
        const auto begin = std::chrono::steady_clock::now();
        for (int block = 0; block < blocks; block++, first += BLOCK) {
            for (int power = 0; power < 4; power++)
                for (int user = 0; user < BLOCK; user++)
                    powers[power * BLOCK + user] = 0.2 * std::pow(first + user, -alphas[power]);
            for (int user = 0; user < BLOCK; user++)
                for (int k = 0; k < SETTINGS; k++) rate[user * SETTINGS + k] = powers[k / 5 * BLOCK + user];
            normals(streams, drawn.data(), BLOCK * ROWS);
            const Lanes *x = drawn.data(), *errors = x + BLOCK * D, *noise = errors + BLOCK;
            steps<D>(x, errors, noise, rate.data(), noise_sd.data(), theta.data(), total.data());
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count() * 1e9 / (double(blocks) * BLOCK * LANES));
    }
    double coefficient = 0;
    for (int lane = 0; lane < LANES; lane++) coefficient += theta[4 * P + 1][lane] / LANES;
    fprintf(stderr, "d = %d: mean coefficient %.3f\n", D, coefficient);
    return best;
}

int main() {
    const double small = nanoseconds<5>(100), large = nanoseconds<20>(40);
    printf("%.3f %.3f\n", small, large);
}
