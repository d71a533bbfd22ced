//! Transports that count on switches which trim, where none does.

use forebay_records::Warning;

use crate::plan::outline::{Direction, Outline};
use crate::schema::{QueueSpec, Transport};

/// A warning where packets of a transport that repairs trimmed ones at once may cross a queue that drops them.
pub(super) fn queues_that_drop(outline: &Outline<'_>) -> Option<Warning> {
    let counts_on_it = |transport: &Transport| match transport {
        Transport::Uec(config) => config.trimming,
        Transport::Ndp(_) => true,
        _ => false,
    };
    let group = outline.spec.flows.iter().find(|group| counts_on_it(&group.transport))?;
    let drops = |direction: &Direction<'_>| {
        let queue = direction.spec.queue.as_deref();
        queue.is_some_and(|queue| !matches!(queue, QueueSpec::Trimming(_)))
    };
    let (_, link) = outline.ways().find(|(_, direction)| drops(direction))?;
    Some(Warning {
        text: format!(
            "`{}` counts on switches that trim, but `{}` drops what does not fit: it is sent again after a \
             timeout only",
            group.name,
            link.link_name("")
        ),
        remedy: match group.transport {
            Transport::Uec(_) => {
                "give every link the queue `trimming`, or write `transport.uec.trimming = false`".into()
            }
            _ => "give every link the queue `trimming`".into(),
        },
    })
}

#[cfg(test)]
mod tests {
    use crate::warnings::tests::one_message;

    fn texts(queue: &str, transport: &str) -> Vec<String> {
        let scenario = one_message(queue, transport);
        super::queues_that_drop(&super::Outline::new(scenario.spec())).into_iter().map(|warning| warning.text).collect()
    }

    #[test]
    fn a_queue_that_drops_is_named() {
        let expected = "`m` counts on switches that trim, but `leaf0.port0` drops what does not fit: it is sent again \
                        after a timeout only";
        for transport in ["uec = {}", "ndp = {}"] {
            assert_eq!(texts(", queue = \"red\"", transport), [expected]);
            assert_eq!(texts(", queue = \"trimming\"", transport), [""; 0]);
            assert_eq!(texts("", transport), [""; 0]);
        }
        assert_eq!(texts(", queue = \"red\"", "uec = { trimming = false }"), [""; 0]);
        assert_eq!(texts(", queue = \"red\"", "roce = {}"), [""; 0]);
    }
}
