package metadata

import (
	"strings"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// near returns the blocks around the title where a page says who wrote it, and when.
func near(o *outline.Outline) (from, to int32) {
	return max(0, o.Title-4), min(int32(len(o.Lines)), max(o.Title, 0)+14)
}

// DublinDate returns the date in Dublin Core as written, or "".
func (h *Head) DublinDate() string { return OneLine(h.dublin) }

// author finds the author.
func (h *Head) Author(o *outline.Outline) string {
	var list []string
	for _, v := range h.LDAuthors {
		if n := name(TextOfJSON(v)); n != "" {
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		for _, v := range h.Authors {
			if n := name(string(v)); n != "" {
				list = append(list, n)
			}
		}
	}
	if len(list) > 0 {
		return strings.Join(Unique(list), "; ")
	}
	count := 0
	from, to := near(o)
	for _, i := range o.Names {
		n := &o.Doc.Nodes[i]
		hint, _, _ := o.Look(n)
		if hint&(1<<outline.HintAuthor) == 0 || o.Title >= 0 && len(o.Lines) > 0 && (i < o.Lines[from].First-40 || to > 0 && i > o.Lines[to-1].Last) {
			continue
		}
		count++
		if count > 6 {
			break
		}
		var text []byte
		for k := i + 1; k < n.End && len(text) < 80; k++ {
			c := &o.Doc.Nodes[k]
			if c.Tag == htmltree.TagText {
				text, _ = outline.AppendWords(text, o.Doc.Text(c), len(text) > 0, 0)
			} else if c.Tag.IsSilent() {
				k = c.End - 1
			} else if len(text) > 0 && !c.Tag.IsInline() {
				break
			}
		}
		if nm := name(string(text)); nm != "" {
			return nm
		}
	}
	for i := from; i < to; i++ {
		b := &o.Lines[i]
		if b.Size < 6 || b.Size > 80 || int32(i) == o.Title {
			continue
		}
		text := string(o.AppendText(nil, b))
		for _, by := range []string{"By ", "by ", "BY ", "Von ", "Par ", "Por ", "Written by "} {
			if rest, ok := strings.CutPrefix(text, by); ok {
				if nm := name(rest); nm != "" && strings.Contains(nm, " ") {
					return nm
				}
			}
		}
	}
	return ""
}

// name cleans a name; "" for what is none.
func name(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for _, by := range []string{"By ", "by ", "BY ", "Von ", "von ", "Par ", "Por ", "Written by ", "Posted by ", "Author: ", "Author ", "Words by ", "Reviewed by "} {
		s = strings.TrimPrefix(s, by)
	}
	for _, cut := range []string{" | ", " - ", " – ", " — ", " on ", " Published", " Updated", " Posted", ", Updated", " •", " ·"} {
		if i := strings.Index(s, cut); i > 0 {
			s = s[:i]
		}
	}
	s = strings.Trim(s, " ,.;:|-–—•·")
	words := strings.Fields(s)
	if len(s) < 2 || len(s) > 60 || len(words) > 6 || strings.ContainsAny(s, "@<>{}[]/\\=") || strings.HasPrefix(s, "http") {
		return ""
	}
	digits := 0
	for _, c := range []byte(s) {
		if outline.IsDigit(c) {
			digits++
		}
	}
	if digits > 2 {
		return ""
	}
	switch strings.ToLower(s) {
	case "admin", "administrator", "author", "editor", "staff", "unknown", "anonymous", "guest", "user", "root", "webmaster", "by", "share", "follow", "comments", "contributors":
		return ""
	}
	return s
}

func Unique(list []string) []string {
	if len(list) < 2 {
		return list
	}
	seen := make(map[string]bool, len(list))
	out := list[:0]
	for _, s := range list {
		if s != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
