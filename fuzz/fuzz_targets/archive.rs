//! libFuzzer's way into [`blockgate_fuzz::archive`].
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| blockgate_fuzz::archive(data));
