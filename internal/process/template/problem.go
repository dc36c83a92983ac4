package template

import (
	"fmt"
	"strings"

	"hce/dc/internal/wire/errormask"
)

// Problem is a part of a template that could not be followed.
type Problem struct {
	Bits     errormask.Mask `json:"-"`
	Template string         `json:"template"` // its name, or its number
	Tag      string         `json:"tag,omitempty"`
	Rule     int            `json:"rule,omitempty"` // from 1; 0: the whole tag or template
	Message  string         `json:"message"`
}

// String returns the message with the place of the problem.
func (p Problem) String() string { return placeName(p.Template, p.Tag, p.Rule) + ": " + p.Message }

// placeName names a part of a template: template "story", tag "title", rule 2.
func placeName(template, tag string, rule int) string {
	var parts []string
	if template != "" {
		parts = append(parts, "template "+template)
	}
	if tag != "" {
		parts = append(parts, fmt.Sprintf("tag %.80q", tag))
	}
	if rule > 0 {
		parts = append(parts, fmt.Sprintf("rule %d", rule))
	}
	return strings.Join(parts, ", ")
}

// Bits returns the error bits of all problems.
func Bits(problems []Problem) (bits errormask.Mask) {
	for _, p := range problems {
		bits |= p.Bits
	}
	return bits
}
