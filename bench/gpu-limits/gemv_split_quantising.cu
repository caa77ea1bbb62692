// Ready activations, copied; results are made ready for the next product.
#include "gemv_split.cuh"

std::vector<Kernel> split_quantising(Format f) {
    if (f == BF16) return {};
    return f == Q8 ? split_kernels_of<Q8, COPIED, true>() : split_kernels_of<Q4, COPIED, true>();
}
