//! libFuzzer's way into [`blockgate_fuzz::region`].
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| blockgate_fuzz::region(data));
