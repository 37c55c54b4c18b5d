package rowvec

import "github.com/rowvec/rowvec/internal/pages"

// AdviseHugePages asks the system to back data with pages of 2 MiB, which makes the random rows of a large table cheaper
// to reach: a lookup of 1,000,000 x 128 floats takes about a quarter less time. Call it before data is written for the
// first time, as lookup does with its tables; memory that is in use already may stay in small pages. It is advice: where
// the system has no such pages, or none left, nothing happens. It writes nothing, and there is nothing to release.
//
// A gradient of which few rows are touched does better without: one row would bring in a whole page.
func AdviseHugePages(data []float32) { pages.Advise(data) }
