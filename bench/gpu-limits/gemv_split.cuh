// Kernels whose warps share rows, and those of one warp a row, for a source of activations: R rows, S warps and U loads each.
#pragma once
#include "gemv_kernel.cuh"

template <Format F, Source SOURCE, bool QUANTISES = false>
std::vector<Kernel> split_kernels_of() {
#define K(R, S, U) gemv_kernel<F, SOURCE, R, S, U, QUANTISES>()
    if constexpr (F == BF16)
        return {K(1, 1, 8), K(2, 1, 8), K(1, 2, 4), K(1, 2, 8), K(2, 2, 4), K(2, 2, 8), K(1, 4, 4), K(2, 4, 2),
                K(2, 4, 4), K(2, 4, 8), K(1, 8, 4), K(2, 8, 4), K(4, 8, 1), K(4, 8, 2)};
    else if constexpr (F == Q8)
        return {K(1, 1, 4), K(2, 1, 4), K(4, 1, 4), K(1, 2, 4), K(2, 2, 2), K(2, 2, 4), K(4, 2, 2), K(2, 4, 2),
                K(2, 4, 4), K(4, 4, 1), K(4, 4, 2), K(2, 8, 1), K(2, 8, 2), K(4, 8, 1), K(4, 8, 2)};
    else
        return {K(1, 1, 2), K(2, 1, 2), K(4, 1, 2), K(2, 2, 1), K(2, 2, 2), K(4, 2, 1), K(4, 2, 2), K(2, 4, 1),
                K(2, 4, 2), K(4, 4, 1), K(4, 4, 2), K(1, 2, 1), K(2, 8, 1), K(4, 8, 1), K(8, 8, 1)};
#undef K
}

std::vector<Kernel> split_batched(Format f);  // gemv_split_*.cu, one a source, so that they compile at the same time
std::vector<Kernel> split_copied(Format f);
std::vector<Kernel> split_direct(Format f);
std::vector<Kernel> split_quantising(Format f);
