//! libFuzzer's way into [`blockgate_fuzz::cubin`].
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| blockgate_fuzz::cubin(data));
