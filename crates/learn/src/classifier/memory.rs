//! The memory of a classifier across a restart: its network, and the threshold with the state of
//! its adjustment.
//!
//! It leaves out the optimiser's moments, and the window that a restart cuts short with its counts
//! of requests: a new window begins, and an epoch of training finds the moments anew.

use frostline_placement::LARGEST_CLASSIFIER;

use super::network::{ClassifierNetwork, VALUES};
use super::threshold::Adjusted;

const VERSION: u32 = 1;
/// Words before the network's values.
const HEAD: usize = 4;
const _: () = assert!(4 * (HEAD + VALUES) <= LARGEST_CLASSIFIER);

/// Writes threshold and network as bytes.
pub(crate) fn write(threshold: &Adjusted, network: &ClassifierNetwork) -> Vec<u8> {
    let Adjusted { value, step, direction } = *threshold;
    let head = [VERSION, value, step as u32, direction as u32];
    let values = network.values.iter().map(|value| value.to_bits());
    head.into_iter().chain(values).flat_map(u32::to_le_bytes).collect()
}

/// Reads threshold and network; `None` if the bytes are of another version, or no network.
pub(crate) fn read(bytes: &[u8]) -> Option<(Adjusted, ClassifierNetwork)> {
    let (words, rest) = bytes.as_chunks();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let (&[version, value, step, direction], values) = words.split_first_chunk::<HEAD>()?;
    let values: Vec<f32> = values.iter().map(|&bits| f32::from_bits(bits)).collect();
    let sound = version == VERSION
        && rest.is_empty()
        && values.len() == VALUES
        && values.iter().all(|value| value.abs() < 1e30);
    let threshold = Adjusted { value, step: step as i32, direction: direction as i32 };
    sound.then_some((threshold, ClassifierNetwork { values }))
}

#[cfg(test)]
mod tests {
    use frostline_placement::{Classifier, ClassifierSetup};
    use frostline_random::SplitMix;

    use super::*;
    use crate::classifier::{Instructions, PageClassifier};

    #[test]
    fn a_classifier_takes_up_what_another_left() {
        let setup = ClassifierSetup {
            space: 1000,
            window: 100,
            full_history: true,
            adaptive: true,
            seed: 1,
        };
        let mut classifier = PageClassifier::new(&setup, Instructions::Portable);
        assert!(classifier.memory().is_empty(), "it has learned nothing");
        let threshold = Adjusted { value: 700, step: 4, direction: -1 };
        let bytes = write(&threshold, &ClassifierNetwork::random(&mut SplitMix::new(1)));
        classifier.recall(&bytes);
        assert_eq!((classifier.memory(), classifier.threshold()), (bytes, Some(700)));
    }

    #[test]
    fn what_was_written_is_read_and_other_bytes_are_not() {
        let network = ClassifierNetwork::random(&mut SplitMix::new(1));
        let threshold = Adjusted { value: 700, step: 4, direction: -1 };
        let bytes = write(&threshold, &network);
        assert_eq!(read(&bytes), Some((threshold, network)));
        assert_eq!(read(&[]), None);
        assert_eq!(read(&bytes[1..]), None);
        assert_eq!(read(&bytes[..bytes.len() - 4]), None);
        let other = |at: usize, word: u32| {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            read(&bytes)
        };
        assert_eq!(other(0, VERSION + 1), None);
        assert_eq!(other(100, f32::NAN.to_bits()), None);
    }
}
