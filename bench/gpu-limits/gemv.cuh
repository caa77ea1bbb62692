// Bare decode GEMVs: one row of activations by weights in bf16, Q8_0 or Q4_0, the latter as a plane of quants and one of scales.
#pragma once
#include "run.cuh"

enum Format { BF16, Q8, Q4 };

// A piece is 2,048 weights of a row; a lane reads 16 bytes at a time of it.
constexpr int PIECE = 2048;
__host__ __device__ constexpr int weights_in_16_bytes(Format f) {
    return f == BF16 ? 8 : f == Q8 ? 16 : 32;
}
__host__ __device__ constexpr int loads_of_piece(Format f) {
    return PIECE / (32 * weights_in_16_bytes(f));
}

enum Trigger { AT_EXIT, BEFORE_WAIT, AT_LAST_PIECE };  // when the next kernel may start

struct Args {
    const uint4* w;     // [n][k]: bf16, int8, or nibbles (byte j of a block: weight j, and weight j + 16 in the upper half)
    const char* s;      // f16 scales: 64 a piece, in the order in which the lanes want them
    const uint16_t* x;  // bf16, written by the kernel before
    uint16_t* y;        // bf16
    float* y32;         // or null: the same in f32, for the check
    unsigned n, k;
    Trigger trigger;
};
struct Kernel {
    void (*run)(Args);
    int rows;  // that a warp computes together
};
std::vector<Kernel> gemv_kernels(Format f);  // gemv_kernel.cu
size_t gemv_shared_bytes(Format f, int k);

struct Shape {
    const char* name;
    int n, k;
};
struct Choice {  // one way to run a shape, with so many blocks an SM
    int kernel = 0, blocks = 2;
    Trigger trigger = AT_EXIT;
    double us = 1e30;
};
struct Place {
    size_t weights = 0, scales = 0;  // byte offsets of a matrix in the two planes
};

// Weights, activations and results, and launches on them.
struct Gemv {
    Format format;
    size_t weight_bytes, scale_bytes;  // of the planes
    Memory w, s, xy, y32;
    std::vector<Kernel> kernels;

    Gemv(Format format, size_t weight_bytes);
    uint16_t* activations(int step) { return xy.as<uint16_t>() + (step & 1) * 262144; }  // in turns input and output
    void reset_activations();
    size_t weights_of(long n, long k) const { return (size_t)n * k * 16 / weights_in_16_bytes(format); }
    size_t scales_of(long n, long k) const { return format == BF16 ? 0 : (size_t)n * k / 16; }
    size_t bytes_of(const Shape& s) const { return weights_of(s.n, s.k) + scales_of(s.n, s.k); }
    bool fits(const Choice& c, int k) const;
    void run(const Choice& c, const Shape& shape, const Place& place, int step, How how, float* f32 = nullptr);
};

void check_gemv(Gemv& g, const Shape& shape, const std::string& name);  // gemv_check.cu
