//! Comments, which rustfmt leaves as they are.

use crate::sources::sources;

/// The most characters of a line of a comment, as of one of code.
const WIDTH: usize = 120;

const FOLDERS: [&str; 12] = [
    "abi-spec/src",
    "codegen/src",
    "codegen/routine/src",
    "backends/c/src",
    "backends/cranelift/src",
    "backends/llvm/src",
    "backends/mlir/src",
    "driver/src",
    "driver/link/src",
    "driver/triton/src",
    "jit/src",
    "python/src",
];

/// Tables, code and addresses are not wrapped.
#[test]
fn comments_are_wrapped() {
    let mut long = Vec::new();
    for source in FOLDERS.into_iter().flat_map(sources) {
        let mut is_code = false;
        for (number, line) in source.text.lines().enumerate() {
            let Some(text) = line.trim_start().strip_prefix("//") else { continue };
            let text = text.trim_start_matches(['/', '!']).trim_start();
            is_code ^= text.starts_with("```");
            let is_whole = is_code || text.starts_with(['|', '#', '[']) || line.contains("://");
            if line.chars().count() > WIDTH && !is_whole {
                long.push(format!("{}:{}", source.path, number + 1));
            }
        }
    }
    assert!(long.is_empty(), "lines of comments with over {WIDTH} characters: {long:#?}");
}
