//! What a running presk program computes with: keys, draws and elementary functions.
#![deny(unsafe_code)]
