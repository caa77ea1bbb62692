//! Pages of the project against the code. A program of its own, because tests of other programs make engines known, which the
//! pages must not have.

mod error_kinds;
mod extending;
mod numerics;
mod tables;
