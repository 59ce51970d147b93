//! The page of `--emit html`.

use std::fs;

use crate::cli::run;
use crate::support::folder;

/// A library with texts that could end an element.
const HOSTILE: &str = "\
/// Ends </code> and <script>.
f(x: Tensor([n], float32), s: str = \"</pre>&\") -> int64 where n > 1 else \"<b title=\\\"x\\\">\"
    = {
        let k: int64 = go(x.data, n);
        if k > 1 { return 7; } else if k == 1 { raise ValueError \"<i>\"; }
        return k;
    };

g() -> None = {};
";

/// Returns the page of declarations.
fn page(text: &str, options: &str) -> String {
    let folder = folder();
    let arguments = format!("emit - --emit html {options} -o -");
    let outcome = run(folder.path(), &arguments, text.as_bytes());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    String::from_utf8(outcome.stdout).expect("a page is UTF-8")
}

/// Returns the lines of a function that are about a topic, by column.
fn about(page: &str, function: &str, topic: &str) -> Vec<(String, Vec<String>)> {
    let (_, section) =
        page.split_once(&format!("<section id=\"{function}\">")).expect("it is there");
    let (section, _) = section.split_once("</section>").expect("it ends");
    let columns = section.split("<h3>").skip(1).map(|column| {
        let title = column.split(" <small>").next().unwrap_or_default().to_owned();
        let lines = column.split("<code").skip(1).filter_map(|line| {
            let (attributes, text) = line.split_once('>')?;
            let topics = attributes.split("data-topics=\"").nth(1)?.trim_end_matches('"');
            topics
                .split(' ')
                .any(|name| name == topic)
                .then(|| text.split_once("\n</code>").expect("a line ends").0.trim().to_owned())
        });
        (title, lines.collect())
    });
    columns.collect()
}

#[test]
fn long_libraries_take_no_time_by_the_square_of_their_length() {
    let text: String = (0..1000).map(|i| format!("f{i}() -> None = {{ }};\n")).collect();
    let start = std::time::Instant::now();
    assert!(page(&text, "").contains("__tvm_ffi_f999"));
    // With time by the square of their number, 800 functions took twelve seconds.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn texts_end_no_element_and_nothing_is_loaded() {
    let page = page(HOSTILE, "");
    for (start, end) in [
        ("<code", "</code>"),
        ("<pre>", "</pre>"),
        ("<section", "</section>"),
        ("<script>", "</script>"),
    ] {
        assert_eq!(page.matches(start).count(), page.matches(end).count(), "{start}");
    }
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(!page.contains("<b ") && !page.contains("<i>") && !page.contains("://"), "{page}");
    assert!(page.contains("&lt;b title=&quot;x&quot;&gt;"));
}

#[test]
fn a_check_is_in_every_column() {
    let page = page(HOSTILE, "");
    let columns = about(&page, "__tvm_ffi_f", "where0");
    let titles: Vec<&str> = columns.iter().map(|(title, _)| title.as_str()).collect();
    let expected = ["Declaration", "Resolved", "Messages", "Host IR", "C", "Machine code"];
    assert_eq!(titles, expected);
    let first: Vec<&str> = columns
        .iter()
        .map(|(title, lines)| {
            lines.first().unwrap_or_else(|| panic!("no line of {title} is about it")).as_str()
        })
        .collect();
    assert!(first[0].starts_with("where n &gt; 1"), "{first:?}");
    assert_eq!(first[1], "require gt(n, 1)");
    assert!(
        first[2].starts_with("ValueError: &lt;b title=&quot;x&quot;&gt; …, n = VALUE"),
        "{first:?}"
    );
    assert!(first[4].starts_with("if (FFI_UNLIKELY(x_shape0 &lt;= 1))"), "{first:?}");
}

#[test]
fn statements_have_lines_of_their_own() {
    let page = page(HOSTILE, "");
    for (statement, text) in [
        ("statement0", "go(x.data, n)"),
        ("statement2", "return 7"),
        ("statement1", "if k &gt; 1"),
        ("statement3", "raise ValueError"),
    ] {
        let columns = about(&page, "__tvm_ffi_f", statement);
        let found = |index: usize| -> &[String] { &columns[index].1 };
        assert!(found(0).iter().any(|line| line.contains(text)), "{statement}: {:?}", found(0));
        for index in [1, 3, 4, 5] {
            assert!(!found(index).is_empty(), "{statement}: {}", columns[index].0);
        }
    }
}

/// A launch with names that the function that prepares it has not.
#[test]
fn functions_that_prepare_launches_are_shown() {
    let text = "image code;\n\nf(x: Tensor([n], float32, device=cuda)) -> None\n    = { for i in 0..n { \
                launch code.\"axpy\"(x.data, int32(i)) grid(n) block(32) smem(65536); } };\n";
    let folder = folder();
    let image = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry axpy(){ret;}\n\0";
    fs::write(folder.path().join("code.ptx"), image).expect("a file can be written");
    for form in ["resolved", "html"] {
        let arguments = format!("emit - --emit {form} --image code=code.ptx --prepare ready -o -");
        let outcome = run(folder.path(), &arguments, text.as_bytes());
        let page = String::from_utf8(outcome.stdout).expect("text is UTF-8");
        assert_eq!(outcome.code, 0, "{form}: {}", outcome.stderr);
        let loaded =
            if form == "html" { "load code.&quot;axpy&quot;" } else { "load code.\"axpy\"" };
        assert!(page.contains(loaded) && page.contains("allow shared memory"), "{page}");
    }
}

#[test]
fn pages_are_the_same_each_time_and_for_other_machines() {
    assert_eq!(page(HOSTILE, ""), page(HOSTILE, ""));
    assert!(page(HOSTILE, "--target aarch64-unknown-linux-gnu").contains("Machine code"));
    assert_eq!(page("", "").matches("<section").count(), 0);
}
