package jsonld

import "strings"

// repair returns the JSON of a script without what is around it, comments and trailing commas,
// and with escapes for the control characters in its texts. It takes linear time.
func repair(script string) string {
	from := strings.IndexAny(script, "{[")
	to := strings.LastIndexAny(script, "}]")
	if from < 0 || to < from {
		return ""
	}
	script = script[from : to+1]
	var b strings.Builder
	b.Grow(len(script))
	for i := 0; i < len(script); {
		switch c := script[i]; {
		case c == '"':
			i = text(&b, script, i)
		case c == ',' && closes(script, i+1):
			i++
		case c == '/' && space(script, i) > i:
			i = space(script, i)
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// text copies the text that begins at i, and returns where it ends.
func text(b *strings.Builder, script string, i int) int {
	b.WriteByte('"')
	for i++; i < len(script); i++ {
		switch c := script[i]; {
		case c == '"':
			b.WriteByte('"')
			return i + 1
		case c == '\\' && i+1 < len(script):
			i++
			escape(b, script[i])
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ':
			b.WriteByte(' ')
		default:
			b.WriteByte(c)
		}
	}
	return i
}

// escape writes an escaped character. JSON knows few of them; JavaScript allows any.
func escape(b *strings.Builder, c byte) {
	switch {
	case strings.IndexByte(`"\/bfnrtu`, c) >= 0:
		b.WriteByte('\\')
		b.WriteByte(c)
	case c == '\n' || c == '\r':
	default:
		b.WriteByte(c)
	}
}

// closes reports whether the next token at i closes an object or a list.
func closes(script string, i int) bool {
	for next := space(script, i); next > i; next = space(script, i) {
		i = next
	}
	return i < len(script) && (script[i] == '}' || script[i] == ']')
}

// space returns the end of the white space or the comment at i, or i.
func space(script string, i int) int {
	rest := script[i:]
	switch {
	case strings.HasPrefix(rest, "/*"):
		return after(script, "*/", i+2)
	case strings.HasPrefix(rest, "//"):
		return after(script, "\n", i+2)
	}
	return i + len(rest) - len(strings.TrimLeft(rest, " \t\r\n"))
}

// after returns the end of the first mark from i on, or the end of the script.
func after(script, mark string, i int) int {
	if end := strings.Index(script[i:], mark); end >= 0 {
		return i + end + len(mark)
	}
	return len(script)
}
