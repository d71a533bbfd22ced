//! Disciplines that serve packets by ranks.

use super::ranked::{aifo, by_remaining_size, drawn, pifo, pifo_work, ranked_work, sorted_work, sp_pifo};
use super::*;

conforms!(pifo_memory: bounded discipline Pifo, PifoConfig::default(), pifo_work(1));
conforms!(pifo_defaults: discipline Pifo, PifoConfig::default(), pifo_work(1));
conforms!(pifo_small: discipline Pifo, pifo(), pifo_work(1));
conforms!(pifo_in_bytes: discipline Pifo,
    PifoConfig { limit: QueueSize::Bytes(20_000), ..pifo() }, pifo_work(room_for(20_000)));
conforms!(pifo_by_remaining_size: reordering Pifo, by_remaining_size(pifo()), sorted_work(2, 0));
conforms!(pifo_by_drawn_ranks: reordering Pifo, PifoConfig { ranks: drawn(), ..pifo() }, sorted_work(2, 1));
conforms!(pifo_by_deadline: discipline Pifo,
    PifoConfig { ranks: RankConfig::Deadline(DeadlineRanks::default()), ..pifo() }, sorted_work(3, 0));
conforms!(sp_pifo_memory: bounded discipline SpPifo, SpPifoConfig::default(), ranked_work(4));
conforms!(sp_pifo_defaults: reordering SpPifo, SpPifoConfig::default(), ranked_work(4));
conforms!(sp_pifo_small: reordering SpPifo, sp_pifo(), ranked_work(4));
conforms!(sp_pifo_in_bytes: reordering SpPifo,
    SpPifoConfig { limit: QueueSize::Bytes(20_000), ..sp_pifo() }, ranked_work(4));
conforms!(sp_pifo_by_remaining_size: reordering SpPifo,
    SpPifoConfig { ranks: RankConfig::RemainingSize, count_inversions: true, ..sp_pifo() }, ranked_work(1));
conforms!(aifo_memory: bounded discipline Aifo, AifoConfig::default(), ranked_work(4));
conforms!(aifo_defaults: discipline Aifo, AifoConfig::default(), ranked_work(4));
conforms!(aifo_small: discipline Aifo, aifo(), ranked_work(4));
conforms!(aifo_in_bytes: discipline Aifo,
    AifoConfig { limit: QueueSize::Bytes(20_000), sample_every: 3, ..aifo() }, ranked_work(4));
conforms!(aifo_by_remaining_size: discipline Aifo,
    AifoConfig { ranks: RankConfig::RemainingSize, count_inversions: true, ..aifo() }, ranked_work(1));
