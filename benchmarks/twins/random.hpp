// Random numbers of the twins: xoshiro256++ (Blackman and Vigna, 2021), normals by the polar method of Marsaglia.
#pragma once
#include <cmath>
#include <cstdint>

// One generator, or one for each lane where Word is a vector.
template <class Word>
struct Xoshiro {
    Word s[4];

    Word next() {
        const Word sum = s[0] + s[3], result = ((sum << 23) | (sum >> 41)) + s[0], t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = (s[3] << 45) | (s[3] >> 19);
        return result;
    }
};

inline uint64_t splitmix64(uint64_t& seed) {
    uint64_t z = (seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

struct Random : Xoshiro<uint64_t> {
    double spare = 0;
    bool has = false;

    explicit Random(uint64_t seed) {
        for (auto& word : s) word = splitmix64(seed);
    }

    double uniform() { return (next() >> 11) * 0x1p-53; }

    double normal() {
        if (has) {
            has = false;
            return spare;
        }
        double u, v, square;
        do {
            u = 2 * uniform() - 1;
            v = 2 * uniform() - 1;
            square = u * u + v * v;
        } while (square >= 1 || square == 0);
        const double factor = std::sqrt(-2 * std::log(square) / square);
        spare = v * factor;
        has = true;
        return u * factor;
    }
};
