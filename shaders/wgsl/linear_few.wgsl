// x w^T + bias for few rows and up to three matrices, for a piece of each; before the products perhaps a norm of x and
// its encoding, after them perhaps a map of their results. Grid: a workgroup per panel of each matrix in x, matrix after
// matrix, or per panel of both if the map is of both, and per ROWS rows in y. A thread has a segment of k of one column,
// for all these rows; 32 neighbours have the columns of a panel. Then it has a column of one row.
struct Matrix {
  out: u32,   // word offset of the result
  cols: u32,  // columns of the result
  first: u32, // the column that the piece begins with
  n: u32,     // columns that the piece has
  panel: u32, // words of a panel
  plane: u32, // words of a row in the first plane
  bias: u32,  // offset of the bias in `small`, or NONE
  begin: u32, // first word of the piece
}
struct Params {
  rows: u32,      // most rows
  rows_from: u32, // word of the step that has their number, or NONE
  k: u32,         // values of a row of activations
  x: u32,         // word offset of the activations
  w: u32,         // weights of a norm of the activations, in `small`
  bias: u32,      // bias of the norm, in `small`
  eps: f32,
  pad: u32,
  second: u32,    // the first workgroup of the second matrix
  third: u32,     // of the third matrix
  pads: vec2<u32>,
  inputs: array<vec4<u32>, 4>, // other operands of the map after the products, in `act`
  m_0: Matrix,
  m_1: Matrix,
  m_2: Matrix,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(3) var<storage, read> small: array<f32>;
@group(0) @binding(4) var<storage, read> w0: array<u32>;
@group(0) @binding(5) var<storage, read> w1: array<u32>;
@group(0) @binding(6) var<storage, read> w2: array<u32>;
const NONE: u32 = 0xffffffffu;
override ROWS: u32 = 8u;          // up to 8
override STRIDE: u32 = 32u;       // between words of a row of floats; 1 for a weight of one row
override WORDS: u32 = 1u;         // of activations that the workgroup encodes
override BOTH: bool = false;      // a workgroup has a panel of two matrices
override ENCODES: bool = false;   // results are stored in Q8_A

var<workgroup> part: array<f32, ROWS * 256u>; // rows x segments x columns

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot

// slot: activations
fn make(first: u32, rows: u32, t: u32) {}
// end slot

// slot: encode
fn largest4(bits: vec4<u32>) -> u32 { return bits.x; }
fn scale_of(most: u32) -> u32 { return most; }
fn codes4(bits: vec4<u32>, most: u32) -> u32 { return bits.x; }
fn sum4(codes: u32) -> i32 { return i32(codes); }
// end slot

// slot: matrix_0
fn products_0(panel: u32, first: u32, rows: u32, t: u32) -> array<f32, 8> { return array<f32, 8>(); }
// end slot
// slot: matrix_1
fn products_1(panel: u32, first: u32, rows: u32, t: u32) -> array<f32, 8> { return array<f32, 8>(); }
// end slot
// slot: matrix_2
fn products_2(panel: u32, first: u32, rows: u32, t: u32) -> array<f32, 8> { return array<f32, 8>(); }
// end slot

// slot: math
// end slot

// slot: result
fn result(y: vec2<f32>, at: u32) -> f32 { return y.x; }
// end slot

// Encodes the 32 results of a row that are in `part`, to word `out`.
fn put_group(from_part: u32, out: u32) {
  var quads: array<vec4<u32>, 8>;
  var most = 0u;
  for (var i = 0u; i < 8u; i++) {
    let at = from_part + i * 4u;
    quads[i] = bitcast<vec4<u32>>(vec4(part[at], part[at + 1u], part[at + 2u], part[at + 3u]));
    most = max(most, largest4(quads[i]));
  }
  var sum = 0;
  for (var i = 0u; i < 8u; i++) {
    let codes = codes4(quads[i], most);
    act[out + i] = codes;
    sum += sum4(codes);
  }
  act[out + 8u] = scale_of(most);
  act[out + 9u] = bitcast<u32>(sum);
}

// Of a panel of a matrix: the result of this thread's row and column, from the sums of all segments.
fn column(sums: array<f32, 8>, m: Matrix, panel: u32, rows: u32, t: u32) -> f32 {
  workgroupBarrier();
  for (var r = 0u; r < ROWS; r++) { part[r * 256u + t] = sums[r]; }
  workgroupBarrier();
  let row = t / 32u;
  let col = t % 32u;
  if (row >= rows || panel * 32u + col >= m.n) { return 0.0; }
  var sum = 0.0;
  for (var i = 0u; i < 8u; i++) { sum += part[row * 256u + i * 32u + col]; }
  if (m.bias != NONE) { sum += small[m.bias + m.first + panel * 32u + col]; }
  return sum;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let first = id.y * ROWS;
  let all = true_rows();
  if (first >= all) { return; }
  let rows = min(all - first, ROWS);
  make(first, rows, t);
  var panel = id.x;
  var m = p.m_0;
  var sums: array<f32, 8>;
  if (BOTH || panel < p.second) {
    sums = products_0(panel, first, rows, t);
  } else if (panel < p.third) {
    panel -= p.second;
    m = p.m_1;
    sums = products_1(panel, first, rows, t);
  } else {
    panel -= p.third;
    m = p.m_2;
    sums = products_2(panel, first, rows, t);
  }
  var y = vec2(column(sums, m, panel, rows, t), 0.0);
  if (BOTH) { y.y = column(products_1(panel, first, rows, t), p.m_1, panel, rows, t); }
  let row = t / 32u;
  let col = m.first + panel * 32u + t % 32u;
  let inside = row < rows && panel * 32u + t % 32u < m.n;
  let at = (first + row) * m.cols + col;
  if (!ENCODES) {
    if (inside) { act[m.out + at] = bitcast<u32>(result(y, at)); }
    return;
  }
  workgroupBarrier();
  if (inside) { part[t] = result(y, at); }
  workgroupBarrier();
  if (inside && t % 32u == 0u) { put_group(t, m.out + at / 32u * 10u); }
}
