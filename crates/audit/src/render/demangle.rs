//! Kernel names as people wrote them, at a bounded price.

use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// The longest name that is shown, in bytes. A mangled name can stand for an exponentially longer one.
const MAX_SHOWN_BYTES: usize = 4096;

/// The name as a person wrote it; as the compiler did where that cannot be told, or is longer than anybody reads.
pub(crate) fn demangled(name: &str) -> String {
    let mut bounded = Bounded(String::new());
    let whole = name.len() <= MAX_SHOWN_BYTES
        && Symbol::new(name).is_ok_and(|symbol| {
            symbol
                .structured_demangle(&mut bounded, &DemangleOptions::new())
                .is_ok()
        });
    if whole {
        return bounded.0;
    }
    let mut end = name.len().min(MAX_SHOWN_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let cut = if end < name.len() { "…" } else { "" };
    format!("{}{cut}", &name[..end])
}

/// Refuses to grow past the bound, which ends the demangling.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_SHOWN_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_SHOWN_BYTES, demangled};

    #[test]
    fn names_are_readable_or_left_alone() {
        assert_eq!(demangled("_Z2kfPKfPt"), "kf(float const*, unsigned short*)");
        for (mangled, expected) in [
            (
                "_ZN5outer6nestedIPNS_3TagIfEELi3EEEvNS1_IT_EEPS4_",
                "void outer::nested<outer::Tag<float>*, 3>(outer::Tag<outer::Tag<float>*>, outer::Tag<float>**)",
            ),
            (
                "_ZN39_GLOBAL__N__414ef325_7_anon_cu__Z4keepv6hiddenILi3EEEvPi",
                "void (anonymous namespace)::hidden<3>(int*)",
            ),
            (
                "_ZN1a1kIN39_GLOBAL__N__414ef325_7_anon_cu__Z4keepv1SEEEvPT_",
                "void a::k<(anonymous namespace)::S>((anonymous namespace)::S*)",
            ),
            (
                "_Z3lamIZ3runvEUlvE_EvT_",
                "void lam<run()::{lambda()#1}>(run()::{lambda()#1})",
            ),
            (
                "_ZN3mlx4core2cu6kernelIZNS1_3runEvE4typeEEvPT_",
                "void mlx::core::cu::kernel<mlx::core::cu::run()::type>(mlx::core::cu::run()::type*)",
            ),
        ] {
            assert_eq!(demangled(mangled), expected);
        }
        for name in [
            "bgk_quantize_nvfp4_f32",
            "",
            "_Z",
            "_ZN5outer",
            "$kernel$_Z3foov",
            "ünde",
            "?foo@@YAXXZ",
        ] {
            assert_eq!(demangled(name), name);
        }
    }

    #[test]
    fn a_short_name_for_an_enormous_one_is_left_alone() {
        // Each template argument is the pair of the one before, so that the length doubles with every step.
        let mut name = "_Z1fI1pIiiE".to_owned();
        for step in 0..40 {
            let back = if step == 0 {
                "S0_".to_owned()
            } else {
                format!("S{}_", base_36(step))
            };
            name.push_str(&format!("1pI{back}{back}E"));
        }
        name.push_str("Evv");
        assert!(demangled(&name).len() <= MAX_SHOWN_BYTES);
        assert!(demangled(&"x".repeat(10_000)).len() <= MAX_SHOWN_BYTES + "…".len());
    }

    fn base_36(number: usize) -> String {
        const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let digit = |number: usize| char::from(DIGITS[number % 36]);
        if number < 36 {
            digit(number).to_string()
        } else {
            format!("{}{}", digit(number / 36), digit(number))
        }
    }
}
