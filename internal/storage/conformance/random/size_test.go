//go:build !race

package random_test

// defaultOperations is the default of DC_RANDOM_OPERATIONS.
const defaultOperations = 10000
