//! libFuzzer's way into [`blockgate_fuzz::wheel`].
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| blockgate_fuzz::wheel(data));
