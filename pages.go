package rowvec

import "github.com/rowvec/rowvec/internal/pages"

// AdviseHugePages asks the system to back data with pages of 2 MiB, which makes the random rows of a large table cheaper
// to reach: a lookup of 1,000,000 x 128 floats takes about a quarter less time. Tables that lookup and positional make are
// such. Before data is first written it costs nothing; later the system copies small pages, some milliseconds for each
// large one, and only since Linux 6.1. It is advice: where the system has no such pages, or none left, nothing happens. It
// changes no element, and there is nothing to release.
//
// A gradient of which few rows are touched does better without: one row would bring in a whole page.
func AdviseHugePages(data []float32) { pages.Advise(data) }
