// Package dateparser takes the place of github.com/markusmobius/go-dateparser, which go-htmldate
// imports for its extensive search. processor-task never starts that search: it reads dates
// with package hce/dc/internal/web/datetext and the fast search of go-htmldate. The real
// package compiles the words of 200 languages when a program starts: 0.3 s and 95 MB in
// each processor-task. This one has the names that go-htmldate uses, and no code of it.
//
// go.mod replaces the module by this folder.
package dateparser

import (
	"errors"
	"time"
)

// ParserType is a way of reading a date.
type ParserType uint8

// The ways that go-htmldate asks for.
const (
	CustomFormat ParserType = iota
	AbsoluteTime
)

// PreferredDateSource says which of two possible dates is meant.
type PreferredDateSource uint8

// Past prefers the earlier date.
const Past PreferredDateSource = 0

// Configuration has no effect; CurrentTime is for go-htmldate itself.
type Configuration struct {
	PreferredDateSource PreferredDateSource
	StrictParsing       bool
	CurrentTime         time.Time
}

// Parser finds no date.
type Parser struct{ ParserTypes []ParserType }

// Date is the result of a search.
type Date struct{ Time time.Time }

// errUnsupported is the answer of every search.
var errUnsupported = errors.New("the extensive search for dates is not supported")

// Parse returns an error and no date.
func (*Parser) Parse(*Configuration, string, ...string) (Date, error) {
	return Date{}, errUnsupported
}
