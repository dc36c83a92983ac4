package target

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"hce/dc/internal/cli/command"
)

const (
	mostListed    = 20_000  // URLs of a list; a site keeps its root URLs in one object
	longestListed = 8 << 10 // bytes of a line
)

// ReadList reads a list of URLs from a file, or from stdin if name is "-": one on a line, with its scheme. Empty lines and those
// that begin with # do not count, and a URL that is there again counts once. A line that is no URL is refused with its number,
// before anything is done.
func ReadList(name string) (list []string, err error) {
	in, shown := io.Reader(os.Stdin), "stdin"
	if name != command.Standard {
		file, err := os.Open(name)
		if err != nil {
			return nil, command.Refuse("%s: %s", name, command.BareMessage(name, err))
		}
		defer file.Close()
		in, shown = file, name
	}
	lines, known := bufio.NewScanner(in), map[string]bool{}
	lines.Buffer(nil, longestListed)
	number := 1
	for ; lines.Scan(); number++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		url, err := ParseFull(line)
		if err != nil {
			return nil, command.Refuse("%s:%d: %w", shown, number, err)
		}
		if !known[url] {
			known[url] = true
			list = append(list, url)
		}
		if len(list) > mostListed {
			return nil, command.Refuse("%s has more than %d URLs; split it", shown, mostListed)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, command.Refuse("%s:%d: the line is longer than %d bytes", shown, number, longestListed)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", shown, err)
	case len(list) == 0:
		return nil, command.Refuse("%s has no URL; write one on each line", shown)
	}
	return list, nil
}

// ParseFull reads a URL that must have a scheme: hce does not ask its host which one it speaks.
func ParseFull(text string) (string, error) {
	u, err := Parse(text)
	switch {
	case err != nil:
		return "", err
	case u.Guessed:
		return "", fmt.Errorf("URL %q has no scheme; did you mean %s or %s?", text, u.Text, u.HTTP().Text)
	}
	return u.Text, nil
}

// ParseRoots reads root URLs, which need a scheme.
func ParseRoots(words []string) (roots []string, err error) {
	for _, word := range words {
		url, err := ParseFull(word)
		switch {
		case err != nil:
			return nil, command.Refusal{Err: err}
		case slices.Contains(roots, url):
			return nil, command.Refuse("URL %s is given twice", url)
		}
		roots = append(roots, url)
	}
	return roots, nil
}
