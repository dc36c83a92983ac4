package folder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// AppendLinks appends links to the text of a .links file: one on a line.
func AppendLinks(to []byte, links []string) []byte {
	for _, link := range links {
		to = append(append(to, link...), '\n')
	}
	return to
}

// AppendMalformed appends links as written: one on a line, with control characters as \xHH and
// backslashes doubled.
func AppendMalformed(to []byte, links []string) []byte {
	for _, link := range links {
		for i := range len(link) {
			switch c := link[i]; {
			case c == '\\':
				to = append(to, `\\`...)
			case c < ' ' || c == 0x7f:
				to = fmt.Appendf(to, `\x%02x`, c)
			default:
				to = append(to, c)
			}
		}
		to = append(to, '\n')
	}
	return to
}

// Links calls each with the links of a page.
func (f *Folder) Links(id ID, each func(url string) error) error {
	return f.forEachLine(LinksName(id), maxURL, func(line string) error {
		if err := checkURL(line); err != nil {
			return err
		}
		return each(line)
	})
}

// maxLink is the longest link as written, in a file of malformed ones. Each byte may take 4.
const maxLink = 4 * (8 << 10)

// Malformed calls each with the malformed links of a page, as written.
func (f *Folder) Malformed(id ID, each func(text string) error) error {
	return f.forEachLine(MalformedName(id), maxLink, func(line string) error {
		text, err := unescapeLine(line)
		if err != nil {
			return err
		}
		return each(text)
	})
}

// unescapeLine undoes the escapes of AppendMalformed.
func unescapeLine(line string) (string, error) {
	if !strings.ContainsFunc(line, func(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f }) {
		return line, nil
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c < ' ' || c == 0x7f:
			return "", columnErrorf(i+1, "control character %q", c)
		case c != '\\':
			b.WriteByte(c)
			continue
		case strings.HasPrefix(line[i:], `\\`):
			b.WriteByte(c)
			i++
			continue
		}
		var n byte
		if i+4 > len(line) {
			return "", columnErrorf(i+1, `%q is no escape \\ or \xHH of a control character`, line[i:])
		}
		if _, err := fmt.Sscanf(line[i:i+4], `\x%02x`, &n); err != nil || n >= ' ' && n != 0x7f || fmt.Sprintf(`\x%02x`, n) != line[i:i+4] {
			return "", columnErrorf(i+1, `%q is no escape \\ or \xHH of a control character`, line[i:i+4])
		}
		b.WriteByte(n)
		i += 3
	}
	return b.String(), nil
}

// forEachLine calls each with the lines of a file. Its error becomes a *Fault, unless it is a passed one.
func (f *Folder) forEachLine(name string, most int, each func(line string) error) error {
	file, err := f.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, most+2)
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		switch {
		case err == io.EOF && len(line) == 0:
			return nil
		case len(line) > most+1 || errors.Is(err, bufio.ErrBufferFull):
			return faultOf(f.Path(name), number, columnErrorf(most+1, "the line is longer than %d bytes", most))
		case err == io.EOF:
			return faultOf(f.Path(name), number, columnErrorf(len(line)+1, "%w", ErrTorn))
		case err != nil:
			return fmt.Errorf("read %s: %w", f.Path(name), err)
		}
		if err := each(string(line[:len(line)-1])); err != nil {
			return faultOf(f.Path(name), number, err)
		}
	}
}
