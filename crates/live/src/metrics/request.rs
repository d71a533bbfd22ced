//! The head of an HTTP request, as much of it as a scraper needs.

/// A longer request is refused.
pub const MOST_REQUEST_BYTES: usize = 8 << 10;

/// The host and the target of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsRequest {
    /// The metrics; `with_body` is false for `HEAD`.
    Metrics {
        /// The answer carries them.
        with_body: bool,
    },
    /// Another path.
    OtherPath {
        /// The answer carries a message.
        with_body: bool,
    },
    /// A method other than `GET` and `HEAD`.
    OtherMethod,
    /// No HTTP/1 request.
    NotHttp,
    /// More than [`MOST_REQUEST_BYTES`] without an end.
    TooLong,
}

/// Reads the bytes received so far; none if the head is not complete yet.
#[must_use]
pub fn parse_head(received: &[u8]) -> Option<MetricsRequest> {
    let within = &received[..received.len().min(MOST_REQUEST_BYTES)];
    if !ends(within) {
        return (received.len() > MOST_REQUEST_BYTES).then_some(MetricsRequest::TooLong);
    }
    let line = within.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    let mut words = line.split(|&byte| byte == b' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !words.next().is_some_and(|version| version.starts_with(b"HTTP/1.")) || words.next().is_some() {
        return Some(MetricsRequest::NotHttp);
    }
    let with_body = match method {
        b"GET" => true,
        b"HEAD" => false,
        _ => return Some(MetricsRequest::OtherMethod),
    };
    Some(match target.split(|&byte| byte == b'?').next() {
        Some(b"/" | b"/metrics") => MetricsRequest::Metrics { with_body },
        _ => MetricsRequest::OtherPath { with_body },
    })
}

/// Whether the head ends: with an empty line, whose line ends may lack their carriage returns.
fn ends(received: &[u8]) -> bool {
    received.windows(4).any(|end| end == b"\r\n\r\n") || received.windows(2).any(|end| end == b"\n\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_complete() {
        let metrics = Some(MetricsRequest::Metrics { with_body: true });
        for (bytes, expected) in [
            (&b""[..], None),
            (b"GET /metrics HTTP/1.1\r\nHost: x\r\n", None),
            (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", metrics),
            (b"GET / HTTP/1.0\n\n", metrics),
            (b"GET /?a=b HTTP/1.1\r\n\r\n", metrics),
            (b"HEAD /metrics HTTP/1.1\r\n\r\n", Some(MetricsRequest::Metrics { with_body: false })),
            (b"HEAD /x HTTP/1.1\r\n\r\n", Some(MetricsRequest::OtherPath { with_body: false })),
            (b"PUT /metrics HTTP/1.1\r\n\r\n", Some(MetricsRequest::OtherMethod)),
            (b"GET /metrics\r\n\r\n", Some(MetricsRequest::NotHttp)),
            (b"GET /metrics HTTP/2\r\n\r\n", Some(MetricsRequest::NotHttp)),
            (b"GET /metrics HTTP/1.1 x\r\n\r\n", Some(MetricsRequest::NotHttp)),
            (b"\r\n\r\n", Some(MetricsRequest::NotHttp)),
            (&[b'x'; MOST_REQUEST_BYTES], None),
            (&[b'x'; MOST_REQUEST_BYTES + 1], Some(MetricsRequest::TooLong)),
        ] {
            assert_eq!(parse_head(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    proptest! {
        /// Whatever comes in how many pieces: the first verdict is the last one.
        #[test]
        fn more_bytes_do_not_change_a_verdict(head in "[A-Z/ ?\r\n.1HTPmetrics]{0,60}", more in ".{0,40}") {
            if let Some(verdict) = parse_head(head.as_bytes()) {
                prop_assert_eq!(parse_head(format!("{head}{more}").as_bytes()), Some(verdict));
            }
        }
    }
}
