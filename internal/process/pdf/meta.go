package pdf

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"hce/dc/internal/process/markup"
	"hce/dc/internal/web/loosexml"
)

// readMeta reads the information dictionary, and the XMP packet for what is missing there.
func (d *document) readMeta(root types.Dict) {
	var info types.Dict
	if d.table.Info != nil {
		info = d.dict(*d.table.Info)
	}
	xmp := readXMP(d.stream(root["Metadata"]))
	d.tex = texPrograms.MatchString(d.text(info["Producer"]) + " " + d.text(info["Creator"]))
	p := d.page
	p.Title = cmp.Or(markup.OwnTitle(d.text(info["Title"])), markup.OwnTitle(xmp["title"]))
	p.Author = cmp.Or(d.text(info["Author"]), xmp["creator"])
	p.Description = cmp.Or(d.text(info["Subject"]), xmp["description"])
	p.Keywords = cmp.Or(d.text(info["Keywords"]), xmp["subject"], xmp["keywords"])
	p.Language = cmp.Or(d.text(root["Lang"]), xmp["language"])
	p.Created = cmp.Or(parseDate(d.text(info["CreationDate"])), markup.Date(xmp["createdate"]))
	p.Modified = cmp.Or(parseDate(d.text(info["ModDate"])), markup.Date(xmp["modifydate"]))
	if p.Modified == p.Created {
		p.Modified = ""
	}
}

// readXMP reads the properties of an XMP packet by their local names. Values of lists are
// joined by "; ".
func readXMP(text []byte) map[string]string {
	found := map[string]string{}
	var names []string // of the open elements
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value == "" || len(found) > 200 {
			return
		}
		if before := found[name]; before != "" && name != "title" && name != "description" && len(before) < 4<<10 {
			value = before + "; " + value
		} else if before != "" {
			return
		}
		found[name] = value
	}
	r := loosexml.NewReader(text)
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		switch t.Kind {
		case loosexml.Start:
			names = append(names, t.Local())
			if t.Local() == "description" {
				for _, a := range t.Attrs {
					add(loosexml.Local(a.Name), a.Value)
				}
			}
		case loosexml.End:
			names = names[:max(len(names)-1, 0)]
		case loosexml.Text:
			for i := len(names) - 1; i >= 0; i-- {
				if n := names[i]; n != "li" && n != "alt" && n != "seq" && n != "bag" {
					add(n, t.Text)
					break
				}
			}
		}
	}
	return found
}

// pdfDate matches D:YYYYMMDDHHmmSSOHH'mm' (ISO 32000-1 7.9.4).
var pdfDate = regexp.MustCompile(`^(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:(Z)|([+-]\d{2})'?(\d{2})?)?`)

// parseDate returns a date of ISO 8601, as far as it is stated. It returns "" for an invalid one.
func parseDate(text string) string {
	m := pdfDate.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return ""
	}
	date := m[1]
	for i, separator := range []string{"-", "-", "T", ":", ":"} {
		part := m[i+2]
		if part == "" && i < 3 {
			return markup.Date(date)
		}
		date += separator + cmp.Or(part, "00")
	}
	zone := m[7]
	if m[8] != "" {
		zone = m[8] + ":" + cmp.Or(m[9], "00")
	}
	if _, err := time.Parse("2006-01-02T15:04:05", date); err != nil {
		return ""
	}
	return markup.Date(date + zone)
}
