package dates

import (
	"fmt"
	"time"

	"github.com/ncruces/go-strftime"
)

// MaxFormat bounds a strftime format, in bytes.
const MaxFormat = 256

// Format writes t by a strftime format, with English names. Unknown specifiers stay as they
// are. A format above MaxFormat bytes is an error.
func Format(format string, t time.Time) (string, error) {
	if len(format) > MaxFormat {
		return "", fmt.Errorf("has a date format of %d bytes; the limit is %d", len(format), MaxFormat)
	}
	return strftime.Format(format, t), nil
}
