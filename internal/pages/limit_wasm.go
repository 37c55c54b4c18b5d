package pages

// MaxBytes is the size of the largest slice that Go can be asked for: an int has 64 bits here, and an address 32.
const MaxBytes = 1 << 32
