package pages

// MaxBytes is the size of the largest slice that Go can be asked for: addresses have 40 bits here.
const MaxBytes = 1 << 40
