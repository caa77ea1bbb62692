

pub mod kernels;
