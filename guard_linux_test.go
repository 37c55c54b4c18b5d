package rowvec_test

import "golang.org/x/sys/unix"

const mapNoReserve = unix.MAP_NORESERVE
