use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Time that this thread has had a processor, so that what other programs do hardly counts; where the system doesn't
/// tell, the time of day.
pub fn busy_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let busy = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = busy.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}
