//! Engines around other engines.

/// Methods of [`Engine`](crate::Engine) that pass their calls on to another engine, for an engine that changes only some
/// of them. The first name is the field that holds the other engine; `Engine` must be in scope. A method that is not listed
/// has its default, so list all that the other engine may have.
///
/// ```
/// use inkstone_compute::{Caps, Engine, EngineOptions, Reference, pass_on};
///
/// /// An engine with larger steps.
/// struct Larger {
///     inner: Reference,
///     caps: Caps,
/// }
///
/// impl Engine for Larger {
///     pass_on! { inner: registry alloc alloc_all weight_bytes warm load prepare queue draws gauge }
///
///     fn caps(&self) -> &Caps {
///         &self.caps
///     }
/// }
///
/// let inner = Reference::new(&EngineOptions::default().budget(1 << 20))?;
/// let mut caps = inner.caps().clone();
/// caps.rows.push(1024);
/// assert_eq!(Larger { inner, caps }.caps().rows.last(), Some(&1024));
/// # Ok::<(), inkstone_compute::Error>(())
/// ```
#[macro_export]
macro_rules! pass_on {
    ($inner:tt:) => {};
    ($inner:tt: caps $($rest:ident)*) => {
        fn caps(&self) -> &$crate::Caps {
            self.$inner.caps()
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
    ($inner:tt: registry $($rest:ident)*) => {
        fn registry(&self) -> &$crate::Registry {
            self.$inner.registry()
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
    ($inner:tt: alloc $($rest:ident)*) => {
        fn alloc(&self, bytes: u64, usage: $crate::Usage) -> $crate::Result<$crate::Buffer> {
            self.$inner.alloc(bytes, usage)
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
    ($inner:tt: alloc_all $($rest:ident)*) => {
        fn alloc_all(&self, buffers: &[(u64, $crate::Usage)]) -> $crate::Result<Vec<$crate::Buffer>> {
            self.$inner.alloc_all(buffers)
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
    ($inner:tt: weight_bytes $($rest:ident)*) => {
        fn weight_bytes(&self, weights: &[$crate::WeightSlot]) -> u64 {
            self.$inner.weight_bytes(weights)
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
    ($inner:tt: warm $($rest:ident)*) => {
        fn warm(&self, plans: &[&$crate::Plan], progress: &dyn $crate::tensor::Progress) -> $crate::Result<()> {
            self.$inner.warm(plans, progress)
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
    ($inner:tt: load $($rest:ident)*) => {
        fn load(
            &self,
            source: &dyn $crate::tensor::WeightSource,
            weights: &[$crate::WeightSlot],
            progress: &dyn $crate::tensor::Progress,
        ) -> $crate::Result<$crate::Weights> {
            self.$inner.load(source, weights, progress)
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
    ($inner:tt: prepare $($rest:ident)*) => {
        fn prepare(
            &self,
            plan: std::sync::Arc<$crate::Plan>,
            bind: $crate::Bindings,
            exec: $crate::Exec,
        ) -> $crate::Result<std::sync::Arc<dyn $crate::Executable>> {
            self.$inner.prepare(plan, bind, exec)
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
    ($inner:tt: queue $($rest:ident)*) => {
        fn queue(&self) -> $crate::Result<Box<dyn $crate::Queue>> {
            self.$inner.queue()
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
    ($inner:tt: draws $($rest:ident)*) => {
        fn draws(&self, chain: $crate::tensor::sampling::ChainRef) -> bool {
            self.$inner.draws(chain)
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
    ($inner:tt: gauge $($rest:ident)*) => {
        fn gauge(&self, threads: usize) -> Option<Box<dyn $crate::Gauge>> {
            self.$inner.gauge(threads)
        }
        $crate::pass_on! { $inner: $($rest)* }
    };
}
