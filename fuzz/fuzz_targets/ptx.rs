//! libFuzzer's way into [`blockgate_fuzz::ptx`].
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| blockgate_fuzz::ptx(data));
