//go:build unix && !linux

package rowvec_test

const mapNoReserve = 0
