// Steps of clipped and noisy softmax regression as a C++ loop, one setting, float32: microseconds a step.
//     g++ -O3 -march=native -ffast-math softmax.cpp -o softmax && ./softmax n p classes batch steps
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "random.hpp"

int main(int count, char** given) {
    if (count != 6) return 2;
    const int n = std::atoi(given[1]), p = std::atoi(given[2]), classes = std::atoi(given[3]);
    const int batch = std::atoi(given[4]), steps = std::atoi(given[5]);
    Random random(1);
    std::vector<float> x(size_t(n) * p), lengths(n), w(size_t(classes) * p), total(w.size()), slopes(classes);
    std::vector<int> y(n), chosen;
    for (int i = 0; i < n; i++) {
        double square = 0;
        for (int j = 0; j < p; j++) {
            x[size_t(i) * p + j] = float(random.normal());
            square += double(x[size_t(i) * p + j]) * x[size_t(i) * p + j];
        }
        lengths[i] = 1;
        for (int j = 0; j < p; j++) x[size_t(i) * p + j] /= float(std::sqrt(square));
        y[i] = int(random.next() % classes);
    }
    const float clip = 1, step = 0.5f, ridge = 1e-4f, scale = step * 1.33f * clip / batch;
    const double skip = std::log1p(-double(batch) / n);
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < steps; k++) {
        chosen.clear();  // each record with probability batch / n: gaps between records are geometric
        for (long i = -1;;) {
            i += 1 + long(std::log(1 - random.uniform()) / skip);
            if (i >= n) break;
            chosen.push_back(int(i));
        }
        std::fill(total.begin(), total.end(), 0.0f);
        for (int i : chosen) {
            const float* row = &x[size_t(i) * p];
            float top = -1e30f, sum = 0, square = 0;
            for (int c = 0; c < classes; c++) {
                const float* own = &w[size_t(c) * p];
                float score = 0;
                for (int j = 0; j < p; j++) score += own[j] * row[j];
                slopes[c] = score;
                top = std::max(top, score);
            }
            for (auto& s : slopes) sum += s = std::exp(s - top);
            for (int c = 0; c < classes; c++) {
                slopes[c] = slopes[c] / sum - (c == y[i]);
                square += slopes[c] * slopes[c];
            }
            const float factor = std::min(1.0f, clip / (std::sqrt(square) * lengths[i] + 1e-6f));
            for (int c = 0; c < classes; c++) {
                const float slope = factor * slopes[c];
                float* own = &total[size_t(c) * p];
                for (int j = 0; j < p; j++) own[j] += slope * row[j];
            }
        }
        for (size_t j = 0; j < w.size(); j++) {
            w[j] = w[j] - step / batch * total[j] - step * ridge * w[j] + scale * float(random.normal());
        }
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%.2f\n", 1e6 * seconds / steps);
    double check = 0;
    for (float v : w) check += v;
    std::fprintf(stderr, "sum of the parameters %g\n", check);  // so that nothing is left out as unused
}
