//! Zero-copy reader of CUDA fat binaries, cubins and PTX.
