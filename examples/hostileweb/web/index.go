package web

import (
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"

	"hce/dc/internal/wire/errormask"
)

var indexPage = template.Must(template.New("index").Parse(`<!DOCTYPE html>
<html lang="en"><head><title>The hostile web</title></head>
<body><h1>The hostile web</h1>
<p>Every address below misbehaves in its own way. The table shows what its server does, and the error that a crawler must report.</p>
<table><tr><th>address</th><th>what it does</th><th>how it ends</th></tr>
{{range .}}<tr><td><a href="{{.URL}}">{{.URL}}</a></td><td>{{.What}}</td><td>{{.End}}</td></tr>
{{end}}</table></body></html>
`))

type indexRow struct{ URL, What, End string }

func (w *Web) serveIndex(rw http.ResponseWriter, _ *http.Request) {
	var rows []indexRow
	for _, t := range Traps() {
		rows = append(rows, indexRow{w.URL(t), t.What, t.End()})
	}
	rw.Header().Set("Content-Type", htmlUTF8)
	_ = indexPage.Execute(rw, rows) // fails if the client leaves
}

// End describes how a crawl of the trap may end, such as "REQUEST_TIMEOUT" or "no error or
// BAD_ENCODING".
func (t Trap) End() string {
	if len(t.Ends) == 0 {
		return "no error"
	}
	var texts []string
	for _, mask := range t.Ends {
		texts = append(texts, endText(mask))
	}
	return strings.Join(texts, " or ")
}

func endText(mask errormask.Mask) string {
	if mask == 0 {
		return "no error"
	}
	return strings.Join(mask.Names(), " and ")
}

// List writes a table of all traps: host, path, what it does, how it ends.
func List(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tPATH\tWHAT IT DOES\tHOW IT ENDS")
	for _, t := range Traps() {
		host, path := t.Host, t.Path
		if host == "" {
			host = "main"
		}
		if len(path) > 40 {
			path = path[:37] + "..."
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", host, path, t.What, t.End())
	}
	return table.Flush()
}

// Markdown returns the rows of docs/servers.md: what the server does, what is stored, which bits the row
// gets.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| # | address | what the server does | what is stored | bits |\n|---:|---|---|---|---|\n")
	for i, t := range Traps() {
		host, path := t.Host, t.Path
		if len(path) > 40 {
			path = path[:37] + "..."
		}
		if host != "" {
			path = host + " " + path
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", i+1, path, strings.ReplaceAll(t.What, "|", "\\|"), t.Stored(), t.End())
	}
	return b.String()
}
