//! When and where something was measured, for records.

/// The time, to the second.
pub(crate) fn now_utc() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The processor and how many threads it gives us.
pub(crate) fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| {
            rest.trim_start_matches([' ', '\t', ':'])
        });
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{model}, {threads} threads")
}
