//! Draws of the kernel against the definition: the same token or status, or `HOST`.

use crate::rows::{Case, EDGES, KINDS, ORDINARY, OTHER, Random, case, edge};
use inkstone_compute::{
    Arg, Bindings, Buffer, Cut, Engine, Exec, Grid, Interface, Plan, Port, Region, StateSlot, Step, Tiling, Usage,
};
use inkstone_engine_wgpu::Wgpu;
use inkstone_tensor::ops::{HISTORY, Sample};
use inkstone_tensor::sampling::Workspace;
use inkstone_tensor::step::record::Record;
use inkstone_tensor::step::{LogitWish, RECORDS, ROWS, Row, Sampler, SeqStep, StepBuffer, StepView};
use inkstone_tensor::{Dim, NoProgress, NoWeights, Sizes, Slots, Type};
use std::sync::Arc;

/// Tokens per page, and pages of the history.
const PAGE: usize = 16;
const PAGES: usize = 2048;
/// Rows of a step.
const ROWS_OF_A_STEP: usize = 32;
const VOCABULARIES: [usize; 8] = [5, 97, 256, 700, 1000, 3000, 4001, 32_000];
/// A plan of one draw on an engine, for rows of so many tokens.
pub struct Bench<'e> {
    engine: &'e Wgpu,
    plan: Arc<Plan>,
}

impl<'e> Bench<'e> {
    pub fn new(engine: &'e Wgpu, vocab: usize) -> Bench<'e> {
        let logits = Type::f32(Dim::LogitRows, vocab);
        let bucket = Sizes { rows: 512, logit_rows: 64, slots: Slots::one_group(PAGES * PAGE) };
        let interface = Interface {
            states: vec![StateSlot { name: "history".into(), ty: HISTORY }],
            ports: vec![(Port::LOGITS, logits), (Port::ROWS, ROWS), (Port::RECORDS, RECORDS)],
            ..Interface::default()
        };
        let (ins, outs) = ([logits, ROWS, HISTORY], [RECORDS]);
        let kernel = engine.registry().kernels.iter().find(|kernel| kernel.name == "sample").expect("the kernel");
        let op = Sample.into();
        let work = (kernel.work)(&inkstone_compute::Shape::new(&op, &ins, &outs, &bucket, engine.caps()));
        let arg = |region, ty, write| Arg { region, offset: 0, ty, value: 0, write, cut: Cut::default() };
        let step = Step {
            kernel: kernel.name.to_owned(),
            args: [
                arg(Region::Port(Port::LOGITS), logits, false),
                arg(Region::Port(Port::ROWS), ROWS, false),
                arg(Region::State(0), HISTORY, false),
                arg(Region::Port(Port::RECORDS), RECORDS, true),
            ]
            .into_iter()
            .collect(),
            grid: Grid::new(Tiling::WHOLE, &ins, &outs),
            scratch: 0..work.scratch,
            first: None,
            refused: Vec::new(),
            op,
        };
        let plan = Plan {
            name: "draws".to_owned(),
            bucket,
            steps: vec![step],
            arena_bytes: work.scratch,
            interface: Arc::new(interface),
        };
        Bench { engine, plan: Arc::new(plan) }
    }

    /// The records of the kernel and of the definition.
    pub fn draw(&self, cases: &[Case]) -> Vec<(Record, Record)> {
        let mut step = StepBuffer::with_capacity(PAGE, cases.len(), PAGES, 1 << 21);
        let (mut history, mut rows, mut next) = (vec![u32::MAX; PAGES * PAGE], Vec::new(), 0);
        for (slot, case) in cases.iter().enumerate() {
            let pages: Vec<u32> =
                (0..case.history.len().div_ceil(PAGE)).map(|i| (PAGES - 1 - next - i) as u32).collect();
            next += pages.len();
            for (i, token) in case.history.iter().enumerate() {
                history[pages[i / PAGE] as usize * PAGE + i % PAGE] = *token;
            }
            let (mut sampler, last) = (Vec::new(), case.history.len() - 1);
            Sampler::encode(case.seed, case.generated_from, &case.chain, &mut sampler);
            step.push(&SeqStep {
                slot,
                tokens: &case.history[last..],
                tables: &[&pages],
                logits: LogitWish::Last,
                sampler: Some(&sampler),
            });
            rows.push(Row { token: case.history[last], position: last as u32, seq: slot as u32 });
        }
        let words = step.encode(0, cases.len()).to_vec();
        let view = StepView::new(&words).unwrap();
        let logits: Vec<f32> = cases.iter().flat_map(|case| case.logits.iter().copied()).collect();
        let found = self.run(&words, &history, &rows, &logits);
        let (mut workspace, mut ids) = (Workspace::new(), Vec::new());
        let both = found.iter().zip(cases).zip(rows).map(|((found, case), row)| {
            let wanted = match Sample.sampler(&view, row) {
                Ok(sampler) => Sample.draw(&mut workspace, &mut ids, &view, &case.logits, row, &sampler, &history),
                Err(record) => record,
            };
            (Record::decode(*found), wanted)
        });
        both.collect()
    }

    fn run(&self, words: &[u32], history: &[u32], rows: &[Row], logits: &[f32]) -> Vec<u32> {
        let (engine, plan) = (self.engine, &self.plan);
        let ports = plan.interface.ports.iter().map(|(_, ty)| (ty.bytes(&plan.bucket), Usage::Port));
        let values: Vec<(u64, Usage)> = [(plan.arena_bytes, Usage::Arena)].into_iter().chain(ports).collect();
        let values = engine.alloc_all(&values).unwrap();
        let ports: Vec<(Port, Buffer)> =
            plan.interface.ports.iter().zip(&values[1..]).map(|((port, _), buffer)| (*port, buffer.clone())).collect();
        let bind = Bindings {
            weights: engine.load(&NoWeights, &[], &NoProgress).unwrap(),
            states: Arc::new([engine.alloc(HISTORY.bytes(&plan.bucket), Usage::State).unwrap()]),
            ports: ports.into(),
            arena: values[0].clone(),
            step: engine.alloc(4 * words.len() as u64, Usage::Step).unwrap(),
        };
        let mut queue = engine.queue().unwrap();
        queue.write(&bind.step, 0, bytemuck::cast_slice(words)).unwrap();
        queue.write(&bind.states[0], 0, bytemuck::cast_slice(history)).unwrap();
        queue.write(&bind.ports[0].1, 0, bytemuck::cast_slice(logits)).unwrap();
        queue.write(&bind.ports[1].1, 0, bytemuck::cast_slice(rows)).unwrap();
        let executable = engine.prepare(plan.clone(), bind.clone(), Exec::Steps).unwrap();
        queue.submit(&executable, &[]).unwrap();
        let mut records = vec![0; rows.len()];
        queue.read(&bind.ports[2].1, 0, bytemuck::cast_slice_mut(&mut records)).unwrap();
        records
    }
}

/// Random rows under random chains: no wrong token or status, and few are left to the host.
pub fn random_rows(engine: &Wgpu, count: usize) {
    let mut random = Random(1);
    let (mut ordinary, mut host, mut done) = (0, 0, 0);
    while done < count {
        let (vocab, rows) = match random.once_in(40) {
            true => (128_256, 8),
            false => (VOCABULARIES[random.below(VOCABULARIES.len())], ROWS_OF_A_STEP),
        };
        let cases: Vec<Case> = (0..rows)
            .map(|_| {
                let is_ordinary = random.once_in(2);
                let shapes: &[&'static str] = if is_ordinary { &ORDINARY } else { &OTHER };
                let shape = shapes[random.below(shapes.len())];
                let kind = KINDS[random.below(if is_ordinary { KINDS.len() - 1 } else { KINDS.len() })];
                case(&mut random, shape, kind, vocab)
            })
            .collect();
        for (case, (found, wanted)) in cases.iter().zip(Bench::new(engine, vocab).draw(&cases)) {
            let at_host = found == Record::Host;
            assert!(at_host || found == wanted, "{found:?}, not {wanted:?}: {} {} {vocab}", case.shape, case.kind);
            if ORDINARY.contains(&case.shape) {
                (ordinary, host) = (ordinary + 1, host + usize::from(at_host));
            }
        }
        done += rows;
    }
    println!("{done} rows, {host} of {ordinary} ordinary ones are left to the host");
    assert!(host * 1000 < ordinary, "{host} of {ordinary}");
}

/// Rows in which the definition decides by less than f32 can tell.
pub fn rows_at_the_edge(engine: &Wgpu, each: usize) {
    let mut random = Random(2);
    for kind in EDGES {
        for _ in 0..each {
            let case = edge(&mut random, kind, 1e-9);
            let drawn = Bench::new(engine, case.logits.len()).draw(std::slice::from_ref(&case));
            assert_eq!(drawn[0].0, Record::Host, "{kind}: the definition has {:?}", drawn[0].1);
        }
    }
}
