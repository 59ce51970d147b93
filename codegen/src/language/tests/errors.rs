//! What errors say.

use crate::declaration::Library;

#[test]
fn probe() {
    for text in [""] {
        println!("{:?}", text.parse::<Library>());
    }
}
