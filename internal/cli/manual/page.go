package manual

import (
	"fmt"
	"strings"

	"hce/dc/internal/cli/flags"
)

// programs are all that have a page, for SEE ALSO.
var programs = []string{"crawler-task", "db-task", "dc-admin", "dc-client", "dc-daemon", "dc-import", "processor-task"}

// heads are paragraphs of notes that have a section of their own: how they begin,
// and the section.
var heads = []struct{ begin, section string }{
	{"Examples:", "EXAMPLES"},
	{"Exit status:", "EXIT STATUS"},
}

// Page is the manual page of a program in the man macros.
func Page(s *flags.Set) string {
	var b strings.Builder
	name := s.Program()
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"HCE DC\" \"HCE Distributed Crawler\"\n", plain(strings.ToUpper(name)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", plain(name), text(s.Summary()))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n[options]\n", plain(name))
	sections := map[string][]string{}
	b.WriteString(".SH DESCRIPTION\n")
	fmt.Fprintf(&b, "%s %s.\n", plain(name), text(s.Summary()))
	for _, note := range s.Notes() {
		if !strings.Contains("\n"+note, "\nExit status:") { // it stands in a line
			note = strings.Replace(note, " Exit status:", "\n\nExit status:", 1)
		}
		for _, paragraph := range strings.Split(note, "\n\n") {
			if section, rest, ok := head(paragraph); ok {
				sections[section] = append(sections[section], rest)
				continue
			}
			b.WriteString(".PP\n")
			writeParagraph(&b, paragraph)
		}
	}
	b.WriteString(".SH OPTIONS\nLong options may be written with one dash, as \\-\\-name=VALUE, and cut to what tells them apart.\n")
	for _, o := range s.Options() {
		writeOption(&b, o)
	}
	for _, h := range heads {
		if len(sections[h.section]) == 0 {
			continue
		}
		fmt.Fprintf(&b, ".SH %s\n", h.section)
		for i, paragraph := range sections[h.section] {
			if i > 0 {
				b.WriteString(".PP\n")
			}
			writeParagraph(&b, paragraph)
		}
	}
	fmt.Fprintf(&b, ".SH ENVIRONMENT\n.TP\n.B DC_<section>_<key>\noverrides a key of the ini file; an empty one counts as not set.\n")
	fmt.Fprintf(&b, ".SH FILES\n.TP\n.I /etc/%s/%s.ini\nthe ini file, when none is named and none stands in the current folder.\n", plain(name), plain(name))
	b.WriteString(".SH SEE ALSO\n")
	var others []string
	for _, p := range programs {
		if p != name {
			others = append(others, ".BR "+plain(p)+" (1)")
		}
	}
	b.WriteString(strings.Join(others, ",\n") + "\n")
	return b.String()
}

func head(paragraph string) (section, rest string, ok bool) {
	for _, h := range heads {
		if rest, ok := strings.CutPrefix(paragraph, h.begin); ok {
			return h.section, strings.TrimPrefix(rest, "\n"), true
		}
	}
	return "", "", false
}

// writeParagraph fills a text, and keeps the lines of one with a table.
func writeParagraph(b *strings.Builder, paragraph string) {
	paragraph = strings.Trim(paragraph, "\n")
	table := false
	for _, line := range strings.Split(paragraph, "\n") {
		table = table || strings.HasPrefix(line, "  ")
	}
	if table {
		b.WriteString(".nf\n")
	}
	for _, line := range strings.Split(paragraph, "\n") {
		if !table {
			line = strings.TrimSpace(line)
		}
		b.WriteString(text(line) + "\n")
	}
	if table {
		b.WriteString(".fi\n")
	}
}

func writeOption(b *strings.Builder, o flags.Option) {
	b.WriteString(".TP\n")
	var names []string
	if o.Short != "" {
		names = append(names, `\fB\-`+plain(o.Short)+`\fR`)
	}
	names = append(names, `\fB\-\-`+plain(o.Long)+`\fR`)
	line := strings.Join(names, ", ")
	if o.Value != "" {
		line += ` \fI` + text(o.Value) + `\fR`
	}
	b.WriteString(line + "\n")
	for _, help := range strings.Split(o.Help, "\n") {
		b.WriteString(text(help) + "\n")
	}
	if len(o.Values) > 0 {
		b.WriteString(".br\nKnown values: " + text(strings.Join(o.Values, ", ")) + ".\n")
	}
}

var escapes = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", `\(ga`, `^`, `\(ha`, `~`, `\(ti`)

// plain is a word as it is typed.
func plain(s string) string { return escapes.Replace(s) }

// text is one line. A dot at its begin would be a macro.
func text(line string) string {
	line = plain(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	return line
}
