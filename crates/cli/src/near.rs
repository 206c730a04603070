//! Guesses the known word that an unknown word was meant to be.

/// The least likeness of a guess, from 0 to 1.
const ALIKE: f64 = 0.8;

/// The most similar known word, if it is similar enough.
pub(crate) fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let rated = known.into_iter().map(|other| (strsim::jaro_winkler(&word, other), other));
    let likest = rated.max_by(|a, b| a.0.total_cmp(&b.0));
    likest.filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, other)| other)
}

/// "did you mean sepbit?", followed by the other hint; only the other hint if no known word is
/// similar.
pub(crate) fn hint<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    else_: &str,
) -> String {
    match near(word, known) {
        Some(meant) => format!("did you mean {meant}? {else_}"),
        None => else_.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        let known = ["nosep", "sepbit", "sepgc", "frozen", "frozen-perfect"];
        assert_eq!(near("sepbits", known), Some("sepbit"));
        assert_eq!(near("SepBIT", known), Some("sepbit"));
        assert_eq!(near("spebit", known), Some("sepbit"));
        assert_eq!(near("frozen-perfct", known), Some("frozen-perfect"));
        assert_eq!(near("midas", known), None);
    }
}
