// Package golden holds the checksums of a fixed workload: every kernel, every layer and optimizer of package lookup and
// every kind of position, forward and backward, on seeded numbers of which many are special. Its test computes them at every
// level of the machine, with one worker and with several, and compares them with testdata/golden.txt, a line for each piece
// of the workload. That file is the same on all machines, and so are the bits, which is what its test is for: it is small
// enough to be run wherever Go runs, and its binary carries the file with it, so that it needs nothing else there.
//
//	GOARCH=loong64 go test -c -o golden.test ./internal/golden
//
// A line that changes is a change of results for everybody who trains with the library. Where that is meant, go test
// ./internal/golden -args -update writes the file anew, and the commit says why.
package golden
