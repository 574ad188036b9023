// Both algorithms of `momentum` as a C++ loop, one replicate, noise included: microseconds a step.
//     g++ -O3 -march=native -ffast-math momentum.cpp -o momentum && ./momentum N d T
// The loss is `rippled-mean`. Algorithm 2 is the one for an order that repeats: momentum plus the noise of its trees, by
// the recursions over windows of one epoch (dpexp/engine/finite_sum/noise_windows.py says which).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "random.hpp"

using Vector = std::vector<double>;

struct Sum {
    int n, d;
    Vector x;
    std::vector<int> order;
    double ripple = 0.1, frequency = 3.0;

    Sum(int n, int d, Random& random) : n(n), d(d), x(size_t(n) * d), order(n) {
        for (auto& v : x) v = random.normal() / std::sqrt(double(d));
        std::iota(order.begin(), order.end(), 0);
        for (int i = n - 1; i > 0; i--) std::swap(order[i], order[random.next() % (i + 1)]);
    }

    void gradient(const double* w, int i, double* out) const {
        const double* a = &x[size_t(i) * d];
        double square = 0, along = 0;
        for (int j = 0; j < d; j++) {
            square += (w[j] - a[j]) * (w[j] - a[j]);
            along += w[j] * a[j];
        }
        const double pull = 1 / std::sqrt(1 + square), slope = ripple * frequency * std::cos(frequency * along);
        for (int j = 0; j < d; j++) out[j] = pull * (w[j] - a[j]) + slope * a[j];
    }
};

static int lowest(long t) { return __builtin_ctzl(t); }

// The noise of Algorithm 1 of step t, into out; slots [levels, d].
static void tree(long t, double rate, double std, Vector& slots, int d, Random& random, double* out) {
    const long rest = t & (t - 1);
    const double* before = rest ? &slots[size_t(lowest(rest)) * d] : nullptr;
    const double factor = rest ? std::exp(rate * double(t - rest)) : 0;
    double* slot = &slots[size_t(lowest(t)) * d];
    for (int j = 0; j < d; j++) {
        out[j] = std * random.normal() + (before ? factor * before[j] : 0);
    }
    for (int j = 0; j < d; j++) slot[j] = out[j];
}

struct Windows {
    int n, d, levels;
    std::vector<long> offset, size;
    Vector nodes, windows, totals, discounts, sums;

    Windows(int n, int d, double rate) : n(n), d(d), levels(0), discounts(n), sums(2 * d) {
        long rows = 0;
        for (int level = 0; (n >> level) > 0; level++) {
            offset.push_back(rows);
            size.push_back(n >> level);
            rows += n >> level;
            levels++;
        }
        nodes.assign(rows * 2 * d, 0);
        windows.assign(size_t(n) * d, 0);
        totals.assign(size_t(n) * d, 0);
        for (int k = 0; k < n; k++) discounts[k] = std::exp(rate * k);
    }

    void add(long t, double fade, double gamma, double std, Random& random, double* out) {
        for (int level = 0; level < levels && (t & ((1L << level) - 1)) == 0; level++) {
            double* row = &nodes[(offset[level] + ((t >> level) - 1) % size[level]) * 2 * d];
            for (int j = 0; j < 2 * d; j++) row[j] = std * random.normal();
        }
        for (auto& s : sums) s = 0;
        for (long start = std::max(1L, t - n + 1); start <= t;) {
            int level = 0;
            while (((start - 1) & ((2L << level) - 1)) == 0 && start + (2L << level) - 1 <= t) level++;
            const long end = start + (1L << level) - 1;
            const double* row = &nodes[(offset[level] + ((end >> level) - 1) % size[level]) * 2 * d];
            const double factor = discounts[t - end];
            for (int j = 0; j < 2 * d; j++) sums[j] += factor * row[j];
            start = end + 1;
        }
        double *window = &windows[size_t((t - 1) % n) * d], *total = &totals[size_t((t - 1) % n) * d];
        for (int j = 0; j < d; j++) {
            if (t <= n) {
                total[j] = sums[j];
            } else {
                window[j] = t > 2 * n ? (1 - gamma) * (window[j] + sums[d + j]) + gamma * sums[j] : sums[j];
                total[j] = fade * total[j] + window[j];
            }
            out[j] += total[j];
        }
    }
};

static double run(const Sum& sum, long steps, bool reduced, uint64_t seed, double& check) {
    Random random(seed);
    const int n = sum.n, d = sum.d;
    const double alpha = 1.0 / n, rate = std::log1p(-alpha), eta = 3.0 / steps, std = 1e-3;
    Vector w(d), m(d), g(d), noise(d), slots(64 * d);
    Windows windows(n, d, rate);
    const auto begin = std::chrono::steady_clock::now();
    for (long t = 1; t <= steps; t++) {
        tree(t, rate, std, slots, d, random, noise.data());
        if (reduced) windows.add(t, std::exp(rate * n), 0.1, std, random, noise.data());
        sum.gradient(w.data(), sum.order[(t - 1) % n], g.data());
        double square = 0;
        for (int j = 0; j < d; j++) {
            m[j] = (1 - alpha) * m[j] + alpha * g[j];
            noise[j] += m[j];
            square += noise[j] * noise[j];
        }
        const double scale = square > 0 ? eta / std::sqrt(square) : 0;
        for (int j = 0; j < d; j++) w[j] -= scale * noise[j];
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (double v : w) check += v;
    return 1e6 * seconds / steps;
}

int main(int count, char** given) {
    if (count != 4) return 2;
    const int n = std::atoi(given[1]), d = std::atoi(given[2]);
    const long steps = std::atol(given[3]);
    Random random(1);
    const Sum sum(n, d, random);
    double check = 0;
    const double first = run(sum, steps, false, 2, check), second = run(sum, steps, true, 3, check);
    std::printf("%.4f %.4f\n", first, second);
    std::fprintf(stderr, "sum of the parameters %g\n", check);  // so that nothing is left out as unused
}
