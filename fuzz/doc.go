// Package fuzz holds the fuzz targets: every kernel and the complete layer, on every instruction set that the machine
// has, against package kernels.
//
// The policy is bit for bit; a NaN equals a NaN, but for Gather, which keeps all bits. An error must be one that the
// arguments deserve, with the right position and value, and must leave everything as it was. All memory is compared,
// inputs, gaps between rows and margins too, twice over different canaries. Buffers lie flush against inaccessible
// pages where the system has them.
package fuzz
