package expr

// Error tells which part of a text is refused, and why. Every error of this
// package that an outsider's text can cause is an *Error; its text is meant for
// that outsider.
type Error struct {
	Part   string // "function SLEEP", "column `Foo`", "text"
	Reason string // "is not allowed", "is not known"
}

// Error joins part and reason to one sentence without a full stop.
func (e *Error) Error() string { return e.Part + " " + e.Reason }

// refuse is the *Error of a part that is understood but not permitted.
func refuse(part string) *Error { return &Error{Part: part, Reason: "is not allowed"} }
