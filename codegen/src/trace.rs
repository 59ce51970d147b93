//! Lines of the crate `log` on what lowering and backends choose, for those who look for the reason of a form. They
//! exist with the cargo feature `log` only; a program that has no logger prints nothing.

/// Logs, at level debug, which rule has chosen a form, or why a check is left out. Arguments are evaluated only where a
/// logger takes the line; without the feature they are compiled to nothing.
macro_rules! explain {
    ($($line:tt)+) => {{
        #[cfg(feature = "log")]
        log::debug!($($line)+);
        #[cfg(not(feature = "log"))]
        if false {
            let _ = std::format_args!($($line)+);
        }
    }};
}

pub(crate) use explain;
