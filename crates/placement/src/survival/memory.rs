//! The memory of the scheme across a restart, in bytes: the centres of classes, so that classes
//! keep their meaning, and hazards by the last lifespan, from which those of contexts are learned
//! again.

use super::ages::AGES;
use super::clusters::{COORDINATES, CurvePoint};
use super::contexts::OCTAVES;
use super::tally::AgeColumn;

const VERSION: u8 = 2;
/// Steps for each halving of a hazard.
const STEPS: f32 = 6.0;

/// Writes centres and hazards as bytes.
pub fn write(centres: &[Option<CurvePoint>], hazards: &[AgeColumn; OCTAVES]) -> Vec<u8> {
    let mut bytes = vec![VERSION, centres.len() as u8];
    for centre in centres {
        bytes.push(u8::from(centre.is_some()));
        bytes.extend(centre.unwrap_or_default().map(|x| (x * 255.0) as u8));
    }
    let steps = |&hazard: &f32| (-log2(hazard) * STEPS).clamp(0.0, 255.0) as u8;
    bytes.extend(hazards.as_flattened().iter().map(steps));
    bytes
}

/// Reads centres and hazards; `None` if the bytes are of another version or another number of
/// classes.
pub fn read(
    bytes: &[u8],
    classes: usize,
) -> Option<(Vec<Option<CurvePoint>>, [AgeColumn; OCTAVES])> {
    let (&[version, count], rest) = bytes.split_first_chunk()?;
    let sound = version == VERSION && usize::from(count) == classes;
    let (centres, steps) = rest.split_at_checked(classes * (COORDINATES + 1)).filter(|_| sound)?;
    if steps.len() != OCTAVES * AGES {
        return None;
    }
    let centre = |bytes: &[u8]| {
        (bytes[0] == 1).then(|| std::array::from_fn(|k| f32::from(bytes[1 + k]) / 255.0))
    };
    let centres = centres.chunks_exact(COORDINATES + 1).map(centre).collect();
    let mut hazards = [[0.0; AGES]; OCTAVES];
    for (hazard, &step) in hazards.as_flattened_mut().iter_mut().zip(steps) {
        *hazard = super::ages::decay(f32::from(step) / STEPS * std::f32::consts::LN_2);
    }
    Some((centres, hazards))
}

/// The logarithm of a positive number, read off its bits (Mitchell, 1962).
fn log2(x: f32) -> f32 {
    (x.to_bits() as i32 - 1f32.to_bits() as i32) as f32 / (1 << 23) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LARGEST_MEMORY;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let centres = [Some([0.25; COORDINATES]), None];
        let hazards: [AgeColumn; OCTAVES] =
            std::array::from_fn(|o| std::array::from_fn(|a| 0.1 / (1 + o * AGES + a) as f32));
        let bytes = write(&centres, &hazards);
        assert!(bytes.len() <= LARGEST_MEMORY);
        let (again, read_hazards) = read(&bytes, 2).unwrap();
        assert!(again[1].is_none() && (again[0].unwrap()[0] - 0.25).abs() < 0.01);
        for (a, b) in hazards.as_flattened().iter().zip(read_hazards.as_flattened()) {
            assert!((a / b - 1.0).abs() < 0.2, "{a} {b}");
        }
        assert!(read(&bytes, 3).is_none() && read(&[], 2).is_none());
        assert!((0..bytes.len()).all(|len| read(&bytes[..len], 2).is_none()));
        let damaged: Vec<u8> = bytes.iter().map(|b| b ^ 0x55).collect();
        assert!(read(&damaged, 2).is_none());
    }
}
