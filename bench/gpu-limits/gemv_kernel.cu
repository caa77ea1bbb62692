// The GEMV kernels that stage activations one load at a time, what makes activations ready, and sizes.
#include "gemv_kernel.cuh"

std::vector<Kernel> gemv_kernels(Format f) {
    if (f == BF16) return {gemv_kernel<BF16, STAGED, 1, 1, 8>(), gemv_kernel<BF16, STAGED, 2, 1, 8>()};
    if (f == Q8)
        return {gemv_kernel<Q8, STAGED, 1, 1, 4>(), gemv_kernel<Q8, STAGED, 2, 1, 4>(), gemv_kernel<Q8, STAGED, 4, 1, 4>()};
    return {gemv_kernel<Q4, STAGED, 1, 1, 2>(), gemv_kernel<Q4, STAGED, 2, 1, 2>(), gemv_kernel<Q4, STAGED, 4, 1, 2>()};
}
size_t gemv_shared_bytes(Format f, Source source, int k) {
    if (source == DIRECT) return 0;
    if (f != BF16) return (size_t)k + k / 4;
    return (size_t)k * (source == COPIED ? 2 : 4);
}
int parts_of_row(Format f, const Kernel& kernel, int k) {
    return k / PIECE * (loads_of_piece(f) / kernel.loads);
}

template <Format F>
static __global__ __launch_bounds__(256) void prepare_k(const uint16_t* x, unsigned k, char* ready) {
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    let_next_kernel_start();
    wait_for_kernels_before();
    if (i >= k / 8) return;  // whole warps or, at the end of a k that isn't a multiple of 256, none
    float f[8];
    unpack(f, load16<PLAIN>(x + i * 8));
    Math<F>::store(ready, k, i, f);
}
void prepare_activations(Format f, const uint16_t* x, int k, char* ready, How how) {
    if (f != BF16) launch(f == Q8 ? prepare_k<Q8> : prepare_k<Q4>, (k / 8 + 255) / 256, 256, 0, how, x, (unsigned)k, ready);
}
