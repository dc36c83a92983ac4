package expr

import (
	"strings"

	"hce/dc/internal/manual"
)

// Error names the refused part of a text and the reason. Every error that a
// caller's text can cause is an *Error. Its message is safe to send to the author
// of the text.
type Error struct {
	Part   string // "function SLEEP", "column `Foo`", "text"
	Reason string // "is not allowed", "is not known"
}

// Error joins part and reason to one sentence without a full stop.
func (e *Error) Error() string { return e.Part + " " + e.Reason }

// newRefusal returns the *Error of a part that the parser knows but this package forbids.
func newRefusal(part string) *Error { return &Error{Part: part, Reason: "is not allowed"} }

// forbidden lists functions that wait, lock, or read files. Their refusal offers
// no replacement.
const forbidden = " SLEEP BENCHMARK LOAD_FILE GET_LOCK IS_FREE_LOCK IS_USED_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS "

const notSupported = "is not supported; docs/spec/storage.md 5.4 lists the functions"

// newUnsupportedError returns the *Error of a function that is missing in the table functions.
func newUnsupportedError(name string) *Error {
	if strings.Contains(forbidden, " "+name+" ") {
		return newRefusal("function " + name)
	}
	return &Error{Part: "function " + firstWord(name), Reason: manual.Locate(notSupported)}
}
