//! Types of files: which type each tensor has, as llama.cpp's quantiser chooses.

use inkstone_tensor::DType;

use super::shapes::{Role, Shape, Tensor};

/// A type of file.
pub struct FileType {
    pub name: &'static str,
    /// Value of `general.file_type`.
    pub id: u32,
    /// The type of most matrices.
    most: DType,
    /// The type of the output, and of the embedding where they are the same.
    head: DType,
    /// Values and down projections of the layers that count have 6 bits.
    more_bits: bool,
}

const fn pure(name: &'static str, id: u32, dtype: DType) -> FileType {
    FileType { name, id, most: dtype, head: dtype, more_bits: false }
}

pub const FILE_TYPES: &[FileType] = &[
    pure("f16", 1, DType::F16),
    pure("bf16", 32, DType::BF16),
    pure("q8_0", 7, DType::Q8_0),
    FileType { name: "q4_0", id: 2, most: DType::Q4_0, head: DType::Q6_K, more_bits: false },
    FileType { name: "q4_k_m", id: 15, most: DType::Q4_K, head: DType::Q6_K, more_bits: true },
    pure("q6_k", 18, DType::Q6_K),
    // One type for all matrices, as `--pure` makes them: to measure it.
    pure("q4_1", 3, DType::Q4_1),
    pure("q5_0", 8, DType::Q5_0),
    pure("q5_1", 9, DType::Q5_1),
    pure("q2_k", 10, DType::Q2_K),
    pure("q3_k", 11, DType::Q3_K),
    pure("q4_k", 14, DType::Q4_K),
    pure("q5_k", 16, DType::Q5_K),
    pure("iq4_nl", 25, DType::IQ4_NL),
    pure("iq4_xs", 30, DType::IQ4_XS),
    pure("mxfp4", 38, DType::MXFP4),
];

/// The replacements of types with blocks of 256 values, for matrices whose rows are not a multiple of 256.
const SMALLER_BLOCKS: &[(DType, DType)] = &[
    (DType::Q2_K, DType::IQ4_NL),
    (DType::Q3_K, DType::IQ4_NL),
    (DType::IQ4_XS, DType::IQ4_NL),
    (DType::Q4_K, DType::Q5_0),
    (DType::Q5_K, DType::Q5_1),
    (DType::Q6_K, DType::Q8_0),
];

impl FileType {
    pub fn of(&self, shape: &Shape, tensor: &Tensor) -> DType {
        let wanted = match tensor.role {
            Role::Norm | Role::Bias | Role::RopeFactors => return DType::F32,
            Role::Head => self.head,
            Role::Embedding if shape.tied => self.head,
            Role::Value | Role::Down if self.more_bits && counts(tensor.layer, shape.layers) => DType::Q6_K,
            _ => self.most,
        };
        let smaller =
            SMALLER_BLOCKS.iter().find(|(large, _)| *large == wanted && !tensor.cols.is_multiple_of(large.block()));
        smaller.map_or(wanted, |row| row.1)
    }

    /// The types of its tensors, except for small ones.
    #[cfg(test)]
    pub fn types(&self) -> [DType; 2] {
        [self.most, self.head]
    }
}

/// The first and the last eighth, and every third layer between.
fn counts(layer: usize, layers: usize) -> bool {
    let eighth = layers / 8;
    layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2
}

#[cfg(test)]
mod tests {
    use super::super::shapes::SHAPES;
    use super::*;

    fn types(shape: &str, file_type: &str) -> Vec<(String, DType)> {
        let shape = SHAPES.iter().find(|s| s.name == shape).unwrap();
        let file_type = FILE_TYPES.iter().find(|t| t.name == file_type).unwrap();
        shape.tensors().into_iter().map(|t| (t.name.clone(), file_type.of(shape, &t))).collect()
    }

    fn count(all: &[(String, DType)], dtype: DType) -> usize {
        all.iter().filter(|t| t.1 == dtype).count()
    }

    fn of(all: &[(String, DType)], name: &str) -> DType {
        all.iter().find(|t| t.0 == name).unwrap().1
    }

    /// As the published file of this model has it.
    #[test]
    fn llama_3_2_1b_q4_k_m_has_the_mix_of_the_real_file() {
        let all = types("llama-3.2-1b", "q4_k_m");
        assert_eq!((all.len(), count(&all, DType::F32)), (147, 34));
        assert_eq!((count(&all, DType::Q4_K), count(&all, DType::Q6_K)), (96, 17));
        assert_eq!(of(&all, "token_embd.weight"), DType::Q6_K);
        let down: Vec<usize> =
            (0..16).filter(|i| of(&all, &format!("blk.{i}.ffn_down.weight")) == DType::Q6_K).collect();
        assert_eq!(down, [0, 1, 4, 7, 10, 13, 14, 15]);
    }

    /// 896 is not a multiple of 256, 4864 is.
    #[test]
    fn qwen2_5_0_5b_q4_k_m_is_mostly_q5_0_and_q8_0() {
        let all = types("qwen2.5-0.5b", "q4_k_m");
        assert_eq!((all.len(), count(&all, DType::F32)), (290, 121));
        assert_eq!((count(&all, DType::Q5_0), count(&all, DType::Q8_0)), (132, 13));
        assert_eq!((count(&all, DType::Q4_K), count(&all, DType::Q6_K)), (12, 12));
        assert_eq!(of(&all, "token_embd.weight"), DType::Q8_0);
    }

    #[test]
    fn the_head_of_a_model_that_is_not_tied_has_more_bits_than_its_embeddings() {
        let all = types("tinyllama-1.1b", "q4_k_m");
        assert_eq!((of(&all, "token_embd.weight"), of(&all, "output.weight")), (DType::Q4_K, DType::Q6_K));
        let all = types("tinyllama-1.1b", "f16");
        assert_eq!((of(&all, "token_embd.weight"), of(&all, "output.weight")), (DType::F16, DType::F16));
    }
}
