//go:build !race

package random_test

// defaultOperations is the length of the sequence without DC_RANDOM_OPERATIONS.
const defaultOperations = 10000
