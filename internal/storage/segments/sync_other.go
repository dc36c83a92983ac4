//go:build !linux

package segments

import (
	"math"
	"os"
)

// syncData makes the bytes of a file durable.
func syncData(f *os.File) error { return f.Sync() }

// free is not available on this system.
func free(string) (int64, error) { return math.MaxInt64, nil }
