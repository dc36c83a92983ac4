// Package httprepair lets net/http read responses that violate HTTP, as browsers do.
//
// net/http refuses a response for one bad line of its header. Browsers drop the line. Repair does
// the same with a header; Conn does it with the responses of an HTTP/1 connection, before a
// transport sees them.
//
//	c := httprepair.New(conn, 256<<10)
//	c.Expect()           // before each request
//	n, err := c.Read(p)  // the header of the response, repaired, then its body, unchanged
//	if c.Repaired() { ... }
//
// Nothing is invented: a response without a status, or with two different lengths, stays wrong.
package httprepair

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Repair returns the header of a response, with its status line and its empty last line, in a form
// that net/http reads, and whether that differs from head in more than the ends of lines. It
//
//   - drops lines without a colon, with a name that is no token, and a folded line behind them
//   - removes NUL and other control characters, and spaces before a colon
//   - writes equal lengths once ("Content-Length: 5, 5"), and drops values that are not a length
//   - drops transfer codings except chunked; with chunked there is no other length
//   - completes a status line such as "http/1.1 200", "HTTP/1 200 OK", "HTTP/1.1 200OK"
func Repair(head []byte) ([]byte, bool) {
	lines, changed := splitLines(head)
	if len(lines) == 0 {
		return head, false
	}
	status, odd := repairStatus(lines[0])
	changed = changed || odd
	kept := []string{status}
	var lengths, codings []string
	dropped := true // a folded line continues a dropped one
	for _, line := range lines[1:] {
		if line[0] == ' ' || line[0] == '\t' {
			if dropped {
				changed = true
			} else {
				kept = append(kept, line)
			}
			continue
		}
		name, value, found := strings.Cut(line, ":")
		token := strings.TrimRight(name, " \t")
		dropped = !found || !httpguts.ValidHeaderFieldName(token)
		changed = changed || dropped || token != name
		switch {
		case dropped:
		case strings.EqualFold(token, "Content-Length"):
			lengths, dropped = append(lengths, value), true
		case strings.EqualFold(token, "Transfer-Encoding"):
			codings, dropped = append(codings, value), true
		default:
			kept = append(kept, token+":"+value)
		}
	}
	framing, odd := repairFraming(lengths, codings)
	kept = append(kept, framing...)
	if !changed && !odd {
		return head, false
	}
	return []byte(strings.Join(kept, "\r\n") + "\r\n\r\n"), true
}

// splitLines returns the lines of a header without control characters, and whether it had some.
// Empty lines before the status line are skipped.
func splitLines(head []byte) (lines []string, changed bool) {
	for raw := range bytes.SplitSeq(head, []byte("\n")) {
		raw = bytes.TrimSuffix(raw, []byte("\r"))
		line := raw
		if bytes.ContainsFunc(raw, isControl) {
			changed = true
			line = bytes.Map(func(r rune) rune {
				if isControl(r) {
					return -1
				}
				return r
			}, decodeLatin1(raw))
			line = encodeLatin1(line)
		}
		switch {
		case len(line) > 0:
			lines = append(lines, string(line))
		case len(lines) == 0:
			changed = true // net/http wants the status line first
		}
	}
	return lines, changed
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// decodeLatin1 and unlatin let bytes.Map see each byte, valid UTF-8 or not.
func decodeLatin1(b []byte) []byte {
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return []byte(string(out))
}

func encodeLatin1(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		out = append(out, byte(r))
	}
	return out
}

// repairStatus returns a status line that net/http reads, if line has a version and a code.
func repairStatus(line string) (string, bool) {
	version, rest, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
	rest = strings.TrimLeft(rest, " ")
	upper := strings.ToUpper(version)
	switch {
	case upper == "HTTP" || upper == "ICY" || upper == "HTTP/1":
		upper = "HTTP/1.0"
	case upper == "HTTP/2" || upper == "HTTP/3":
		upper = "HTTP/1.1"
	}
	if len(rest) > 3 && rest[3] != ' ' {
		if _, err := strconv.ParseUint(rest[:3], 10, 16); err == nil && (rest[3] < '0' || rest[3] > '9') {
			rest = rest[:3] + " " + rest[3:]
		}
	}
	whole := upper + " " + rest
	if whole == line || whole == line+" " {
		return line, false
	}
	return whole, strings.TrimRight(whole, " ") != strings.Join(strings.Fields(line), " ")
}

// repairFraming returns the lines that say how long the body is, and whether they had to be repaired. Two
// different lengths are returned as they are: the response is wrong.
func repairFraming(lengths, codings []string) (lines []string, changed bool) {
	if words := splitList(codings); len(words) > 0 {
		if !slices.Contains(words, "chunked") {
			lines, changed = nil, true
		} else {
			return []string{"Transfer-Encoding: chunked"}, len(words) > 1 || len(lengths) > 1
		}
	}
	words := splitList(lengths)
	if len(words) == 0 {
		return nil, changed || len(lengths) > 0
	}
	valid := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !isLength(w) })
	slices.Sort(valid)
	switch valid = slices.Compact(valid); {
	case len(valid) == 0:
		return nil, true
	case len(valid) > 1:
		for _, v := range lengths {
			lines = append(lines, "Content-Length:"+v)
		}
		return lines, changed
	}
	return []string{"Content-Length: " + valid[0]}, changed || len(words) > 1
}

// splitList returns the words of comma-separated lists, in lower case.
func splitList(lists []string) []string {
	var words []string
	for _, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			if word = strings.ToLower(strings.Trim(word, " \t")); word != "" {
				words = append(words, word)
			}
		}
	}
	return words
}

func isLength(word string) bool {
	_, err := strconv.ParseUint(word, 10, 63)
	return err == nil
}
