package main

// groups are words of Newton's Opticks that belong together: what neighbours are judged by. The list was written from the
// frequencies of the words alone, before any vectors of them were looked at, and is not to be fitted to what comes out. No
// word is in two groups. Words that the text has too seldom, and texts that have none, are left out of the judgement.
var groups = []struct {
	name  string
	words []string
}{
	{"colours", []string{"red", "orange", "yellow", "green", "blue", "indigo", "violet", "purple", "white", "black", "grey"}},
	{"numbers", []string{"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty", "hundred"}},
	{"ordinals", []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}},
	{"measures", []string{"inch", "inches", "foot", "feet", "degrees", "minutes"}},
	{"eye and brain", []string{"eye", "eyes", "retina", "nerves", "brain", "sensorium", "vision"}},
	{"instruments", []string{"prism", "prisms", "lens", "glass", "glasses", "speculum", "telescope", "telescopes"}},
	{"heavens", []string{"sun", "moon", "stars", "planets", "comets", "earth"}},
	{"metals", []string{"gold", "silver", "copper", "iron", "lead", "mercury", "antimony", "metal", "metals"}},
	{"salts and spirits", []string{"salt", "acid", "vitriol", "spirit", "spirits", "sulphur", "nitre", "tartar", "aqua", "fortis"}},
	{"ways of light", []string{"refraction", "refractions", "reflexion", "reflexions", "transmission", "incidence", "emergence"}},
	{"geometry", []string{"angle", "angles", "sine", "sines", "circle", "circles", "line", "lines", "diameter", "diameters",
		"radius", "circumference", "axis", "square"}},
	{"comparatives", []string{"greater", "less", "bigger", "smaller", "larger", "longer", "nearer", "farther", "broader",
		"thicker", "brighter", "darker", "denser", "rarer", "stronger"}},
	{"directions", []string{"above", "below", "upper", "lower", "upwards", "downwards", "right", "left", "top", "bottom"}},
	{"parts of the book", []string{"book", "part", "prop", "proposition", "obs", "observation", "exper", "experiment", "fig"}},
}
