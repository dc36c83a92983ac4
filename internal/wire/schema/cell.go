package schema

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// cell is the scan target of one struct field. NULL becomes the zero value; drivers
// return dates as text or time.Time.
type cell struct{ field reflect.Value }

// Scan implements sql.Scanner.
func (c *cell) Scan(src any) error {
	f := c.field
	switch x := src.(type) {
	case nil:
		f.SetZero()
		return nil
	case []byte:
		src = string(x)
	case time.Time:
		src = x.UTC().Format(DateLayout)
	}
	switch f.Kind() {
	case reflect.String:
		switch x := src.(type) {
		case string:
			f.SetString(x)
		default:
			f.SetString(fmt.Sprint(x))
		}
		return nil
	case reflect.Float64:
		switch x := src.(type) {
		case float64:
			f.SetFloat(x)
		case int64:
			f.SetFloat(float64(x))
		case string:
			n, err := strconv.ParseFloat(x, 64)
			if err != nil {
				return fmt.Errorf("scan column: %q is not a number", x)
			}
			f.SetFloat(n)
		default:
			return fmt.Errorf("scan column: %T is not a number", x)
		}
		return nil
	}
	var n int64
	switch x := src.(type) {
	case int64:
		n = x
	case uint64:
		n = int64(x)
	case float64:
		n = int64(x)
	case bool:
		if x {
			n = 1
		}
	case string:
		var err error
		if n, err = strconv.ParseInt(x, 10, 64); err != nil {
			return fmt.Errorf("scan column: %q is not a whole number", x)
		}
	default:
		return fmt.Errorf("scan column: %T is not a whole number", x)
	}
	if f.CanUint() {
		f.SetUint(uint64(n))
	} else {
		f.SetInt(n)
	}
	return nil
}
