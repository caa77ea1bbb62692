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

// Activations come as bf16, and each block makes them ready in shared memory, with one load of a thread in flight or with four; or
// they come as the step before made them ready (bf16 as it is), and are copied to shared memory, or read where they are by way of
// L1.
enum Source { STAGED, BATCHED, COPIED, DIRECT };

enum Trigger { AT_EXIT, BEFORE_WAIT, AT_LAST_PIECE };  // when the next kernel may start

struct Args {
    const uint4* w;     // [n][k]: bf16, int8, or nibbles (byte j of a block: weight j, and weight j + 16 in the upper half)
    const char* s;      // f16 scales: 64 a piece, in the order in which the lanes want them
    const void* x;      // bf16 or ready activations, written by the kernel before
    uint16_t* y;        // bf16
    float* y32;         // or null: the same in f32, for the check
    char* ready;        // where the kernel that quantises its results puts them as the next one's activations
    unsigned* arrived;  // for that: of each 32 rows, those that are there
    unsigned n, k, next_k;
    Trigger trigger;
};
struct Kernel {
    void (*run)(Args);
    Source source;
    int rows;   // that a warp computes together
    int warps;  // that share a row
    int loads;  // of 16 bytes in flight a lane and row
    bool quantises;
};
std::vector<Kernel> gemv_kernels(Format f);  // gemv_kernel.cu: those that stage activations one load at a time
void prepare_activations(Format f, const uint16_t* x, int k, char* ready, How how);  // gemv_kernel.cu
size_t gemv_shared_bytes(Format f, Source source, int k);
int parts_of_row(Format f, const Kernel& kernel, int k);  // what warps can share

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

// Where ready activations come from: they are there from the beginning, or made of the results of the product before, by a
// kernel between or by the product itself.
enum Carry { GIVEN, BY_KERNEL, BY_WRITER };
struct Link {
    Carry carry = GIVEN;
    int next_k = 0;
};

// Weights, activations and results, and launches on them.
struct Gemv {
    Format format;
    size_t weight_bytes, scale_bytes;  // of the planes
    Memory w, s, xy, y32, ready_xy, arrived;
    std::vector<Kernel> kernels;

    Gemv(Format format, size_t weight_bytes, std::vector<Kernel> kernels);
    uint16_t* activations(int step) { return xy.as<uint16_t>() + (step & 1) * 262144; }  // in turns input and output
    char* ready(int step) { return ready_xy.as<char>() + (step & 1) * 262144; }
    char* given(int k) { return ready_xy.as<char>() + 524288 + k / PIECE * 32768; }
    size_t ready_bytes(int k) const { return format == BF16 ? 0 : k + k / 4; }
    void reset_activations();
    void prepare(int step, int k, char* to, How how) { prepare_activations(format, activations(step), k, to, how); }
    bool takes_ready(const Choice& c) const { return format != BF16 && kernels[c.kernel].source >= COPIED; }
    size_t weights_of(long n, long k) const { return (size_t)n * k * 16 / weights_in_16_bytes(format); }
    size_t scales_of(long n, long k) const { return format == BF16 ? 0 : (size_t)n * k / 16; }
    size_t bytes_of(const Shape& s) const { return weights_of(s.n, s.k) + scales_of(s.n, s.k); }
    int blocks_for(const Kernel& kernel, const Shape& shape) const;
    bool fits(const Choice& c, const Shape& shape) const;  // and differs from the same with fewer blocks
    void run(const Choice& c, const Shape& shape, const Place& place, int step, How how, float* f32 = nullptr,
             const Link& link = {});
};

void check_gemv(Gemv& g, const Shape& shape, const std::string& name);  // gemv_check.cu
