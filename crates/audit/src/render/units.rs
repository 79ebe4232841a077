//! Numbers as people read them.

/// `8826504` as `8,826,504`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 image`, `2,041 images`.
pub(crate) fn number_of(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// A size in bytes with a binary unit and three digits at most: `742 B`, `48.4 KiB`, `139 MiB`.
pub fn bytes(size_bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if size_bytes < 1024 {
        return format!("{size_bytes} B");
    }
    let mut unit = 0;
    // Tenths of a unit, in whole numbers: the display is exact however large the size.
    let mut tenths = u128::from(size_bytes) * 10 / 1024;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    if tenths >= 1000 {
        format!("{} {}", tenths / 10, UNITS[unit])
    } else {
        format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    }
}

/// A difference of sizes with its sign: `+48.4 KiB`, `-1.0 MiB`, `0 B`.
pub fn signed_bytes(difference_bytes: i64) -> String {
    let sign = match difference_bytes {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", bytes(difference_bytes.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::{bytes, count, signed_bytes};

    #[test]
    fn numbers_for_people() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(8_826_504), "8,826,504");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(49_536), "48.3 KiB");
        assert_eq!(bytes(145_673_817), "138 MiB");
        assert_eq!(bytes(u64::MAX), "16383 PiB");
        assert_eq!(signed_bytes(-2048), "-2.0 KiB");
        assert_eq!(signed_bytes(12_721_576), "+12.1 MiB");
    }
}
