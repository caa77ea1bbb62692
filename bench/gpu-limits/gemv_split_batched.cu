// Activations as bf16, staged with four loads in flight.
#include "gemv_split.cuh"

std::vector<Kernel> split_batched(Format f) {
    if (f == BF16) return split_kernels_of<BF16, BATCHED>();
    return f == Q8 ? split_kernels_of<Q8, BATCHED>() : split_kernels_of<Q4, BATCHED>();
}
