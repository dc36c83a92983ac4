package pdf

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"hce/dc/internal/process/markup"
	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/loosexml"
)

// readMeta reads the information dictionary, and the XMP packet for what is missing there.
func (d *document) readMeta(root types.Dict) {
	var info types.Dict
	if d.table.Info != nil {
		info = d.resolveDict(*d.table.Info)
	}
	xmp := readXMP(d.decodeStream(root["Metadata"]))
	d.tex = texPrograms.MatchString(d.resolveText(info["Producer"]) + " " + d.resolveText(info["Creator"]))
	p := d.page
	p.Title = cmp.Or(markup.OwnTitle(d.resolveText(info["Title"])), markup.OwnTitle(xmp["title"]))
	p.Author = cmp.Or(d.resolveText(info["Author"]), xmp["creator"])
	p.Description = cmp.Or(d.resolveText(info["Subject"]), xmp["description"])
	p.Keywords = cmp.Or(d.resolveText(info["Keywords"]), xmp["subject"], xmp["keywords"])
	p.Language = cmp.Or(d.resolveText(root["Lang"]), xmp["language"])
	p.Created, p.Modified = dateOf(d.resolveText(info["CreationDate"]), xmp["createdate"]), dateOf(d.resolveText(info["ModDate"]), xmp["modifydate"])
	if p.Modified == p.Created {
		p.Modified = dates.Value{}
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

// dateOf returns the date of a file, else that of its XMP.
func dateOf(text, xmp string) dates.Value {
	v := parseDate(text)
	if v.IsZero() {
		v, _ = dates.ParseISO(xmp)
	}
	return markup.DateOf(v)
}

// pdfDate matches D:YYYYMMDDHHmmSSOHH'mm' (ISO 32000-1 7.9.4).
var pdfDate = regexp.MustCompile(`^(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(Z|[+-]\d{2})?'?(\d{2})?`)

// parseDate returns what the text states; zero for an invalid date and for a year alone.
func parseDate(text string) dates.Value {
	m := pdfDate.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return dates.Value{}
	}
	date := m[1] + "-" + m[2]
	if m[3] != "" {
		date += "-" + m[3]
	}
	if m[4] != "" {
		date += "T" + m[4] + ":" + cmp.Or(m[5], "00") + ":" + cmp.Or(m[6], "00") + m[7]
		if m[7] != "" && m[7] != "Z" {
			date += ":" + cmp.Or(m[8], "00")
		}
	}
	v, _ := dates.ParseISO(date)
	return markup.DateOf(v)
}
