package site

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
)

// leaves is the number of pages linked from the page of five hundred links.
const leaves = 25

// daysInCalendar bounds the calendar that a crawler must not visit.
const daysInCalendar = 40

// generatedPages returns the pages that are generated and cause no trouble.
func generatedPages() map[string]http.HandlerFunc {
	routes := map[string]http.HandlerFunc{
		"/search":                  serveSearch,
		"/links/five-hundred.html": fiveHundred,
		"/fault/after-big.html":    servePage("The page behind the big one", "Only the last line of a page of three megabytes leads here. Whoever reads this has read that page to its end. A crawler that stops early never finds it."),
		"/fault/after-huge.html":   servePage("The page behind the huge one", "Only the last line of a page of eleven megabytes leads here. With a limit of ten nobody should come by. Without one it is an ordinary page."),
	}
	for n := 1; n <= leaves; n++ {
		routes[leafPath(n)] = servePage(fmt.Sprintf("Leaf %d of a large tree", n),
			fmt.Sprintf("This is leaf number %d. Twenty links on one page lead to it, and they are spelled in five ways. It should be fetched once, and it has no links of its own but one.", n))
	}
	for n := 1; n <= daysInCalendar; n++ {
		routes[fmt.Sprintf("/private/calendar/%d", n)] = serveCalendar(n)
	}
	return routes
}

func leafPath(n int) string { return fmt.Sprintf("/links/leaf/%02d.html", n) }

// servePage answers with a title and one paragraph.
func servePage(title, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { writePage(w, title, text) }
}

func writePage(w http.ResponseWriter, title, text string) {
	w.Header().Set("Content-Type", htmlUTF8)
	writeBody(w, title, text, 1)
}

// writeBody writes a page with its paragraph repeated times times. Title and text are plain
// text.
func writeBody(w io.Writer, title, text string, times int) {
	title, text = html.EscapeString(title), html.EscapeString(text)
	fmt.Fprintf(w, "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>%s</title></head>\n<body>\n<article>\n<h1>%s</h1>\n%s</article>\n<p><a href=\"/\">Home</a></p>\n</body>\n</html>\n",
		title, title, strings.Repeat("<p>"+text+"</p>\n", times))
}

// fiveHundred links to each leaf twenty times, with five spellings of its URL.
func fiveHundred(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", htmlUTF8)
	out := bufio.NewWriter(w)
	defer out.Flush()
	fmt.Fprint(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Five hundred links on one page</title></head>\n<body>\n<h1>Five hundred links on one page</h1>\n"+
		"<p>This page has five hundred links to five and twenty pages. They are not all written alike, but those that mean the same page should be taken as one. A limit of links for each page may cut the list, and then the first ones count.</p>\n<ul>\n")
	for i := range 500 {
		n := i%leaves + 1
		spelled := [...]string{
			fmt.Sprintf("leaf/%02d.html", n),
			fmt.Sprintf("./leaf/%02d.html", n),
			fmt.Sprintf("/links/leaf/%02d.html", n),
			fmt.Sprintf("leaf/../leaf/%02d.html", n),
			fmt.Sprintf("leaf/%02d.html#part-%d", n, i),
		}[i/leaves%5]
		fmt.Fprintf(out, "<li><a href=\"%s\">leaf %d</a></li>\n", spelled, n)
	}
	fmt.Fprint(out, "</ul>\n</body>\n</html>\n")
}

// serveSearch answers each query with a page that has no link to another query.
func serveSearch(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query().Get("q")
	if len(q) > 100 {
		serveStatus(http.StatusBadRequest)(w, r)
		return
	}
	w.Header().Set("Content-Type", htmlUTF8)
	if q == "" {
		writeBody(w, "A search without a question", "Nothing was asked, and so nothing was found. The form that leads here has a field for the question. Somebody sent it empty.", 1)
		return
	}
	writeBody(w, "A search for "+q, "You looked for "+q+". There may be a page about it in the town. The search of this site is not a good one, as it knows no words.", 1)
}

// serveCalendar is one page of an endless series.
func serveCalendar(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", htmlUTF8)
		fmt.Fprintf(w, "<!DOCTYPE html>\n<title>Day %d</title>\n<p>Nothing was entered for this day. <a href=\"%d\">The next day</a></p>\n", n, n%daysInCalendar+1)
	}
}

// writeLong writes numbered paragraphs up to size bytes, always the same, and a last line
// with a link. It stops when w fails.
func writeLong(w io.Writer, size int) {
	name := "big"
	if size > 10<<20 {
		name = "huge"
	}
	out := bufio.NewWriterSize(w, 64<<10)
	sent, _ := fmt.Fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>A %s page</title></head>\n<body>\n<h1>A %s page</h1>\n", name, name)
	subjects := [...]string{"The miller", "The keeper", "A gull", "The ferry", "Somebody", "The harbour master", "A boy with a net"}
	verbs := [...]string{"waited for", "looked at", "wrote about", "forgot", "listened to", "spoke of"}
	objects := [...]string{"the tide", "the red door", "a letter from the island", "the wind", "an old rope"}
	for n := 0; sent < size; n++ {
		k, err := fmt.Fprintf(out, "<p>Entry %d. %s %s %s. It was written down in the evening, and the lamp was clean. Nobody asked why it was worth a line.</p>\n",
			n, subjects[n%len(subjects)], verbs[n%len(verbs)], objects[n%len(objects)])
		if err != nil {
			return
		}
		sent += k
	}
	fmt.Fprintf(out, "<p><a href=\"after-%s.html\">The page behind</a></p>\n</body>\n</html>\n", name)
	_ = out.Flush()
}
