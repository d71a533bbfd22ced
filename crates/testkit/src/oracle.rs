//! The fluid server of generalised processor sharing, computed in real time, flow by flow, without virtual time.

/// A packet that comes to the fluid server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FluidArrival {
    /// The time of arrival; arrivals are given in this order.
    pub at_s: f64,
    /// Index of its flow.
    pub flow: usize,
    /// Its length.
    pub bytes: f64,
}

/// When the fluid server has served the last bit of each packet. Between two events each backlogged flow gets the share
/// `weight / sum of the weights of backlogged flows` of `rate`, in bytes per second.
#[must_use]
pub fn gps_finish_times_s(arrivals: &[FluidArrival], weights: &[f64], bytes_per_second: f64) -> Vec<f64> {
    let mut finish = vec![f64::NAN; arrivals.len()];
    // Packets of each flow that are not done, oldest first, with the bytes that remain of the oldest.
    let mut queues: Vec<std::collections::VecDeque<(usize, f64)>> =
        weights.iter().map(|_| Default::default()).collect();
    let mut now = 0.0;
    let mut next = 0;
    loop {
        let busy: f64 =
            weights.iter().zip(&queues).filter(|(_, queue)| !queue.is_empty()).map(|(weight, _)| weight).sum();
        let rate = |flow: usize| bytes_per_second * weights[flow] / busy;
        let first_done = queues
            .iter()
            .enumerate()
            .filter_map(|(flow, queue)| queue.front().map(|(_, bytes)| (now + bytes / rate(flow), flow)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let arrival = arrivals.get(next);
        let (until, done) = match (first_done, arrival) {
            (None, None) => return finish,
            (Some((at, flow)), arrival) if arrival.is_none_or(|arrival| at <= arrival.at_s) => (at, Some(flow)),
            (_, Some(arrival)) => (arrival.at_s.max(now), None),
            (Some(_), None) => unreachable!("a completion comes before no arrival"),
        };
        for (flow, queue) in queues.iter_mut().enumerate() {
            if let Some((_, bytes)) = queue.front_mut() {
                *bytes = (*bytes - rate(flow) * (until - now)).max(0.0);
            }
        }
        now = until;
        match (done, arrival) {
            (Some(flow), _) => {
                if let Some((packet, _)) = queues[flow].pop_front() {
                    finish[packet] = now;
                }
            }
            (None, Some(arrival)) => {
                queues[arrival.flow].push_back((next, arrival.bytes));
                next += 1;
            }
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_equal_flows_share_until_one_is_done() {
        let arrival = |at_s, flow, bytes| FluidArrival { at_s, flow, bytes };
        let arrivals = [arrival(0.0, 0, 100.0), arrival(0.0, 1, 300.0), arrival(1.0, 0, 50.0)];
        // 50 B/s each to 3 s, when flow 0 has had its 150 B; then flow 1 has the link for its last 150 B.
        let finish = gps_finish_times_s(&arrivals, &[1.0, 1.0], 100.0);
        assert!(
            finish.iter().zip([2.0, 4.5, 3.0]).all(|(time, expected)| (time - expected).abs() < 1e-12),
            "{finish:?}"
        );
    }

    #[test]
    fn weights_and_idle_times_count() {
        let arrival = |at_s, flow| FluidArrival { at_s, flow, bytes: 100.0 };
        let arrivals = [arrival(1.0, 0), arrival(1.0, 1), arrival(9.0, 1)];
        let finish = gps_finish_times_s(&arrivals, &[3.0, 1.0], 100.0);
        assert!((finish[0] - (1.0 + 4.0 / 3.0)).abs() < 1e-12, "{finish:?}");
        assert!((finish[1] - 3.0).abs() < 1e-12 && (finish[2] - 10.0).abs() < 1e-12, "{finish:?}");
    }
}
