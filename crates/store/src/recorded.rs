//! Schemes as superblocks name them. A name that has come to stand for another scheme is recorded
//! differently, so that stores of the former one open, and older programs refuse stores of the new one.

/// Schemes, and the names that superblocks have for them.
const NAMES: [(&str, &str); 2] = [("frozen-lifespan", "frostline"), ("frostline", "frostline@2")];

/// A scheme as a superblock names it, parameters included.
pub fn written(scheme: &str) -> String {
    renamed(scheme, NAMES)
}

/// The scheme that a superblock names.
pub fn read(recorded: &str) -> String {
    renamed(recorded, NAMES.map(|(scheme, recorded)| (recorded, scheme)))
}

fn renamed(scheme: &str, names: [(&str, &str); 2]) -> String {
    let (name, params) = scheme.split_at(scheme.find(':').unwrap_or(scheme.len()));
    let found = names.iter().find(|(from, _)| *from == name);
    found.map_or(name, |(_, to)| to).to_string() + params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_scheme_is_read_as_it_was_written() {
        for scheme in ["frostline", "frozen-lifespan:tiers=1", "frostline:classes=4", "dac", ""] {
            assert_eq!(read(&written(scheme)), scheme);
        }
    }

    #[test]
    fn what_older_programs_called_frostline_is_not_what_it_is_now() {
        assert_eq!(read("frostline:tiers=1"), "frozen-lifespan:tiers=1");
        assert_ne!(written("frostline"), "frostline");
    }
}
