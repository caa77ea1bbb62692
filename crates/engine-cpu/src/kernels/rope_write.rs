//! Queries and keys turned, keys and values written, in one step: what lies between products and attention. Where each head
//! has norms of queries and keys, they come first.

use super::copies::write_row;
use super::decoded::decode_row;
use super::rope::{angles, rotate};
use super::{on, rms_norm};
use crate::isa::Floats;
use crate::memory::View;
use crate::tile::{Places, Tile, step_rows};
use inkstone_tensor::Op;
use inkstone_tensor::ops::Rope;
use inkstone_tensor::step::StepError;

pub(super) fn rope_write<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

/// Heads to be turned: where they come from, their norm, and their rotation.
struct Heads<'a> {
    x: View<'a>,
    /// Epsilon and weights.
    norm: Option<(f32, View<'a>)>,
    rope: &'a Rope,
}

#[inline(always)]
fn body<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
    let Op::Region(region) = tile.op else { unreachable!("the kernel of a region") };
    let ops = region.body.nodes.iter().map(|n| &n.op).collect::<smallvec::SmallVec<[&Op; 6]>>();
    let (q, k, v, rows, writes) = match (&ops[..], tile.ins) {
        ([Op::Rope(q), Op::Rope(k), Op::KvWrite(keys), Op::KvWrite(values)], [x, y, v, rows, _, _]) => {
            (Heads { x: *x, norm: None, rope: q }, Heads { x: *y, norm: None, rope: k }, *v, *rows, [keys, values])
        }
        (
            [Op::RmsNorm(n), Op::RmsNorm(m), Op::Rope(q), Op::Rope(k), Op::KvWrite(keys), Op::KvWrite(values)],
            [x, w, y, u, v, rows, _, _],
        ) => {
            let q = Heads { x: *x, norm: Some((n.eps, *w)), rope: q };
            (q, Heads { x: *y, norm: Some((m.eps, *u)), rope: k }, *v, *rows, [keys, values])
        }
        _ => unreachable!("the region of this kernel"),
    };
    let [turned, caches @ ..] = &mut *tile.outs else { unreachable!("queries and caches") };
    let [keys, values] = caches else { unreachable!("keys and values") };
    let (key, floats) = tile.scratch.floats(k.x.ty.cols + q.floats().max(k.floats())).split_at_mut(k.x.ty.cols);
    for (r, row) in step_rows(&rows).enumerate() {
        let place = |group| Places::of(tile.step, row.seq, group, tile.sizes.slots)?.at(row.position as usize);
        q.turn(isa, r, row.position, floats, turned.row(r));
        k.turn(isa, r, row.position, floats, key);
        write_row(keys, place(writes[0].group)?, key);
        write_row(values, place(writes[1].group)?, v.row(r));
    }
    Ok(())
}

impl Heads<'_> {
    /// Floats of scratch: the table of angles, the weights of the norm, a row.
    fn floats(&self) -> usize {
        2 * self.rope.frequencies.len() + self.norm.map_or(0, |(_, w)| w.ty.cols) + self.x.ty.cols
    }

    /// A row of heads at a position.
    #[inline(always)]
    fn turn<I: Floats>(&self, isa: I, r: usize, position: u32, floats: &mut [f32], out: &mut [f32]) {
        let (table, floats) = floats.split_at_mut(2 * self.rope.frequencies.len());
        angles(isa, self.rope, position, table);
        let Some((eps, w)) = self.norm else { return rotate(isa, self.rope, table, self.x.row(r), out) };
        let (weights, floats) = floats.split_at_mut(w.ty.cols);
        let normed = &mut floats[..self.x.ty.cols];
        decode_row(&w, 0, 0, weights);
        rms_norm::row(isa, self.x.row(r), weights, eps, normed);
        rotate(isa, self.rope, table, normed, out);
    }
}
