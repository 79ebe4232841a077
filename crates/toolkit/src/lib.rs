//! Finds or provisions nvcc and CMake.
