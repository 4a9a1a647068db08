//! Patterns for names of functions: `cuMemcpy*`, `*Async*`, `cuMem?lloc`.

/// `true` if a pattern means a name; `*` is any number of characters, `?` exactly one.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut in_name) = (0, 0);
    // Where to go on after the last star, with one more character taken by it.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                Some((star_at, taken)) => {
                    star = Some((star_at, taken + 1));
                    at = star_at + 1;
                    in_name = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// `true` if a name is a pattern.
pub(super) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_match_what_they_say() {
        for (pattern, name, expected) in [
            ("cuMemcpy*", "cuMemcpyHtoD_v2", true),
            ("cuMemcpy*", "cuMemcpy", true),
            ("cuMemcpy*", "cuMemsetD8_v2", false),
            ("*Async", "cuMemcpyAsync", true),
            ("*Async", "cuMemcpyAsync_v2", false),
            ("*Async*", "cuMemcpyAsync_v2", true),
            ("cu*Create*", "cuStreamCreateWithPriority", true),
            ("cuMem?lloc", "cuMemAlloc", true),
            ("cuMem?lloc", "cuMemlloc", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
            ("**a", "ba", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
