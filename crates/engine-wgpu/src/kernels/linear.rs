//! Products with matrices: for up to eight rows, or for many. A matrix of several pieces takes a dispatch for each.

use super::formats::{layout, unpack};
use super::map::{Inputs, ending};
use super::norms::Norm;
use super::{blocks, groups};
use crate::call::{Call, Dispatch, NONE, Operand, Place, Source, word};
use crate::planes::PANEL;
use crate::shader::Shader;
use inkstone_compute::{Caps, Query};
use inkstone_shaders::wgsl::text;
use inkstone_tensor::{DType, Dim};

/// Most rows of the kernels for few.
pub(super) const FEW: usize = 8;
/// Rows of a tile of the kernels for many.
const TILE: usize = 32;
/// Most matrices of a dispatch.
pub(super) const MATRICES: usize = 3;

/// A weight of one row is stored in f32, for the kernels of floats.
pub(super) fn refuses(query: &Query, _caps: &Caps) -> Option<String> {
    let one = query.ins.get(1).is_some_and(|w| w.rows == Dim::N(1));
    one.then(|| "a weight of one row".to_owned())
}

/// The activations of products.
#[derive(Default)]
pub(super) struct Activations<'c> {
    /// The first word.
    pub(super) x: u32,
    /// Values of a row.
    pub(super) k: usize,
    /// Whether products take them in Q8_A.
    pub(super) blocks: bool,
    /// Steps of each workgroup before the products.
    pub(super) inside: Inside<'c>,
}

/// Steps of a workgroup before its products.
#[derive(Default)]
pub(super) struct Inside<'c> {
    /// A norm.
    pub(super) norm: Option<Norm<'c>>,
    /// The encoding in Q8_A.
    pub(super) encodes: bool,
}

/// A matrix, its bias, and the place of its result.
pub(super) struct Product<'c> {
    pub(super) w: &'c Operand,
    pub(super) bias: Option<&'c Operand>,
    /// The first word of the result.
    pub(super) out: u32,
    /// Its columns.
    pub(super) cols: usize,
}

/// A piece of the matrix of a product.
pub(super) struct Part {
    source: Source,
    dtype: DType,
    panels: u32,
    words: [u32; 8],
}

impl Product<'_> {
    /// The pieces, in order.
    pub(super) fn parts(&self) -> Result<Vec<Part>, String> {
        let (out, cols) = (self.out, word(self.cols)?);
        let bias = self.bias.map_or(Ok(NONE), Operand::vector)?;
        let Place::Matrix(matrix) = &self.w.place else {
            let words = [out, cols, 0, 1, 0, 0, bias, self.w.vector()?];
            return Ok(vec![Part { source: Source::Vectors, dtype: DType::F32, panels: 1, words }]);
        };
        let planes = layout(matrix)?;
        let [panel, plane] = [word(planes.panel_words)?, word(planes.second)?];
        let part = |(i, piece): (usize, &crate::weights::Piece)| {
            let words = [out, cols, word(piece.first)?, word(piece.rows)?, panel, plane, bias, 0];
            let panels = blocks(piece.rows, PANEL)?;
            Ok(Part { source: Source::Piece(matrix.clone(), i), dtype: matrix.dtype, panels, words })
        };
        matrix.pieces.iter().enumerate().map(part).collect()
    }
}

/// The words of the parameters that all kernels of products have.
fn parameters(call: &Call, x: &Activations, parts: &[Part], inputs: &Inputs) -> Result<Vec<u32>, String> {
    let [w, bias, eps] = x.inside.norm.as_ref().map_or(Ok([0; 3]), Norm::words)?;
    // The first workgroup of the second and the third matrix.
    let [second, third] = [1, 2].map(|i| match parts.len() > i {
        true => parts.iter().take(i).map(|part| part.panels).sum(),
        false => u32::MAX,
    });
    let mut words = call.parameters(&[word(x.k)?, x.x, w, bias, eps, 0, second, third, 0, 0]);
    words.extend(inputs);
    words.extend(parts.iter().flat_map(|part| part.words));
    Ok(words)
}

fn bind(mut dispatch: Dispatch, parts: Vec<Part>) -> Dispatch {
    for (place, part) in dispatch.weights.iter_mut().zip(parts) {
        *place = part.source;
    }
    dispatch
}

/// A text of matrix 0 for another matrix.
fn renamed(text: &str, matrix: usize) -> String {
    text.replace("_0", &format!("_{matrix}")).replace("w0[", &format!("w{matrix}["))
}

/// How a workgroup of a kernel for few rows ends.
#[derive(Clone, Copy, Default)]
pub(super) struct End {
    /// A map of the results of two matrices.
    pub(super) both: bool,
    /// An encoding in Q8_A.
    pub(super) encodes: bool,
}

impl Activations<'_> {
    /// The texts by which a kernel for few rows reads them, and the words of a row in the memory of a workgroup.
    fn inside(&self) -> Result<(String, u32), String> {
        let k = word(self.k)?;
        let (files, words): (&[_], _) = match (self.blocks, &self.inside) {
            (true, Inside { encodes: true, .. }) => {
                (&["shared/group", "shared/encoded", "activations/encoded"], k / 32 * 10)
            }
            (true, _) => (&["shared/group", "activations/blocks"], 0),
            (false, Inside { norm: Some(_), .. }) => (&["activations/normed"], k),
            (false, _) => (&["activations/floats"], 0),
        };
        let values = (words > 0).then(|| Norm::texts(self.inside.norm.as_ref()));
        Ok((files.iter().filter_map(|name| text(name)).chain(values.into_iter().flatten()).collect(), words))
    }
}

/// A dispatch for few rows and for up to three matrices.
pub(super) fn few(
    call: &Call,
    x: &Activations,
    parts: Vec<Part>,
    map: Option<&(String, Inputs)>,
    end: End,
) -> Result<Dispatch, String> {
    let rows = call.rows().min(FEW as u32);
    let (activations, words) = x.inside()?;
    let mut shader = Shader::named("linear_few")
        .file("rows", "shared/rows")
        .file("encode", "shared/encode")
        .slot("activations", activations)
        .constant("ROWS", rows)
        .constant("WORDS", words.saturating_mul(rows).max(1))
        .constant("BOTH", u32::from(end.both))
        .constant("ENCODES", u32::from(end.encodes));
    let product = text(if x.blocks { "shared/product_blocks" } else { "shared/product_floats" });
    for (i, (part, slot)) in parts.iter().zip(["matrix_0", "matrix_1", "matrix_2"]).enumerate() {
        let texts = product.into_iter().chain([unpack(part.dtype)?]);
        shader = shader.slot(slot, renamed(&texts.collect::<String>(), i));
    }
    if !x.blocks && parts.iter().any(|part| matches!(part.source, Source::Vectors)) {
        shader = shader.constant("STRIDE", 1);
    }
    let (shader, inputs) = ending(shader, map);
    let panels =
        if end.both { parts.first().map_or(0, |part| part.panels) } else { parts.iter().map(|p| p.panels).sum() };
    let grid = [groups(panels as usize)?, groups((call.rows() as usize).div_ceil(FEW))?, 1];
    let parameters = parameters(call, x, &parts, &inputs)?;
    Ok(bind(Dispatch::new(shader, parameters, grid), parts))
}

/// A dispatch for many rows and one matrix.
pub(super) fn tiled(
    call: &Call,
    x: &Activations,
    part: Part,
    map: Option<&(String, Inputs)>,
) -> Result<Dispatch, String> {
    let mut shader = if x.blocks {
        Shader::named("linear_tiled").file("group", "shared/group").slot("block", unpack(part.dtype)?)
    } else {
        Shader::named("linear_tiled_f32").slot("floats", unpack(part.dtype)?)
    };
    if !x.blocks && matches!(part.source, Source::Vectors) {
        shader = shader.constant("STRIDE", 1);
    }
    let (shader, inputs) = ending(shader.file("rows", "shared/rows"), map);
    let grid = [part.panels, groups((call.rows() as usize).div_ceil(TILE))?, 1];
    let parts = vec![part];
    let parameters = parameters(call, x, &parts, &inputs)?;
    Ok(bind(Dispatch::new(shader, parameters, grid), parts))
}

/// The operands of a single product.
fn single<'c>(call: &'c Call) -> Result<(Activations<'c>, Product<'c>), String> {
    let [x, w, out] = [&call.ins[0], &call.ins[1], &call.outs[0]];
    let blocks = x.ty.dtype == DType::Q8_A;
    let product = Product { w, bias: call.ins.get(2), out: out.at()?, cols: out.ty.cols };
    Ok((Activations { x: x.at()?, k: x.ty.cols, blocks, ..Activations::default() }, product))
}

pub(super) fn linear_few(call: &Call) -> Result<Vec<Dispatch>, String> {
    let (x, product) = single(call)?;
    product.parts()?.into_iter().map(|part| few(call, &x, vec![part], None, End::default())).collect()
}

pub(super) fn linear_tiled(call: &Call) -> Result<Vec<Dispatch>, String> {
    let (x, product) = single(call)?;
    product.parts()?.into_iter().map(|part| tiled(call, &x, part, None)).collect()
}
