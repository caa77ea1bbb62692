//! Pages of the project against the code. A program of its own, because tests of other programs make engines known, which the
//! pages shall not have.

mod extending;
mod numerics;
mod readme;
mod readme_api;
