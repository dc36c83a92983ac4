//go:build race

package random_test

// defaultOperations is smaller under the race detector, which slows all down.
const defaultOperations = 400
