//go:build race

package random_test

// defaultOperations is smaller with the race detector, which is slow.
const defaultOperations = 400
