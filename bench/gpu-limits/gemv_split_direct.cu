// Ready activations, read where they are.
#include "gemv_split.cuh"

std::vector<Kernel> split_direct(Format f) {
    if (f == BF16) return split_kernels_of<BF16, DIRECT>();
    return f == Q8 ? split_kernels_of<Q8, DIRECT>() : split_kernels_of<Q4, DIRECT>();
}
