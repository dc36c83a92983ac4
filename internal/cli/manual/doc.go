// Package manual turns the options of a program into its manual page (man 1) and
// into completions for shells, from the same source as --help.
//
//	err := s.Parse(os.Args[1:])
//	if text, asked := manual.Answer(s, err); asked {
//		fmt.Print(text)
//		return
//	}
//
// Neighbours: cli, which knows the options; the mains print.
package manual

import (
	"errors"

	"hce/dc/internal/cli/flags"
)

// Answer is the text for a program that was asked about itself: help, manual page
// or completion, by what Parse said.
func Answer(s *flags.Set, err error) (text string, asked bool) {
	var completion flags.CompletionError
	switch {
	case errors.Is(err, flags.ErrHelp):
		return s.Help(), true
	case errors.Is(err, flags.ErrMan):
		return Page(s), true
	case errors.As(err, &completion):
		return Completion(s, completion.Shell), true
	}
	return "", false
}
