package command

import (
	"fmt"
	"strconv"
)

// ParseNumber reads the value of an option, a number from lowest to highest.
func ParseNumber(option, text string, lowest, highest int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < lowest || n > highest {
		return 0, fmt.Errorf("%s %q is not a number from %d to %d", option, text, lowest, highest)
	}
	return n, nil
}
