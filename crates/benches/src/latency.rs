//! Latencies for reports.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Quantiles of latencies, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatencyReport {
    /// Half of the latencies are not above this.
    pub p50: f64,
    /// 95 % of the latencies are not above this.
    pub p95: f64,
    /// 99 % of the latencies are not above this.
    pub p99: f64,
    /// 99.9 % of the latencies are not above this.
    pub p999: f64,
    /// The largest latency.
    pub max: f64,
}

impl LatencyReport {
    /// The quantiles of times in nanoseconds.
    pub(crate) fn of(times: &Histogram<u64>) -> Self {
        let us = |ns: u64| ns as f64 / 1e3;
        LatencyReport {
            p50: us(times.value_at_quantile(0.5)),
            p95: us(times.value_at_quantile(0.95)),
            p99: us(times.value_at_quantile(0.99)),
            p999: us(times.value_at_quantile(0.999)),
            max: us(times.max()),
        }
    }
}
