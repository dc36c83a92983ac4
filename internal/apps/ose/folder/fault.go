package folder

import "fmt"

// Fault is a place in a file that does not have its form.
type Fault struct {
	File         string // its path
	Line, Column int    // from 1, in bytes; 0: the file as a whole
	Err          error
}

// Error names the place and the cause.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %v", f.File, f.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", f.File, f.Line, f.Column, f.Err)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// columnError is an error at a byte of a record.
type columnError struct {
	column int // from 1
	error
}

func columnErrorf(column int, format string, args ...any) error {
	return columnError{column, fmt.Errorf(format, args...)}
}

// faultOf makes the error of a record a Fault.
func faultOf(path string, line int, err error) error {
	column := 1
	if c, ok := err.(columnError); ok {
		column, err = c.column, c.error
	}
	return &Fault{path, line, column, err}
}
