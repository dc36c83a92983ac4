//go:build ignore

// teacher writes the text of articles as the chain of commit b5b1086 finds it, without the rule that prefers the reading
// with more prose, and as two libraries find it. corpus.sh copies this file into a work tree of that commit.
//
//	teacher LIST FOLDER     LIST has lines of {id, url, path, expected, with, without}; FOLDER gets pages.jsonl and html/
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"

	"hce/dc/internal/process/article"
	"hce/dc/internal/web/charset"
)

const (
	leastText  = 250  // bytes
	leastAgree = 0.75 // F1 of the words with the better of the others
	leastWith  = 0.67 // of the known parts
)

type page struct {
	ID       string   `json:"id"`
	URL      string   `json:"url"`
	Type     string   `json:"type"`
	Text     string   `json:"text"`
	Others   []string `json:"others"`
	With     []string `json:"with,omitempty"`
	Without  []string `json:"without,omitempty"`
	Path     string   `json:"path,omitempty"`
	Expected string   `json:"expected,omitempty"`
}

func main() {
	log.SetFlags(0)
	in, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	folder := os.Args[2]
	if err := os.MkdirAll(filepath.Join(folder, "html"), 0o755); err != nil {
		log.Fatal(err)
	}
	out, err := os.Create(filepath.Join(folder, "pages.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p page
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			log.Fatal(err)
		}
		raw, err := os.ReadFile(p.Path)
		if err != nil {
			log.Fatal(err)
		}
		text, _, _ := charset.Decode(raw, "")
		if !p.readTexts(text) {
			continue
		}
		line, _ := json.Marshal(p)
		fmt.Fprintf(out, "%s\n", line)
		if err := os.WriteFile(filepath.Join(folder, "html", p.ID+".html"), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
}

// read fills the texts. It returns false for a page that is of no use.
func (p *page) readTexts(text []byte) bool {
	address := p.URL
	if address == "" {
		address = "http://site.example/a"
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	a, _ := article.Extract(text, address)
	p.Type, p.Text = "taught", a.Text
	p.addOther(trafilaturaText(text, u))
	p.addOther(readabilityText(text, u))
	if p.Expected != "" {
		expected, _ := os.ReadFile(p.Expected)
		p.addOther(visibleText(expected))
	}
	p.Path, p.Expected = "", ""
	agree := 0.0
	for _, o := range p.Others {
		agree = max(agree, wordF1(p.Text, o))
	}
	found := 0
	for _, w := range p.With {
		if strings.Contains(collapseBlanks(p.Text), collapseBlanks(w)) {
			found++
		}
	}
	return len(p.Text) >= leastText && agree >= leastAgree && float64(found) >= leastWith*float64(len(p.With))
}

func (p *page) addOther(text string) {
	if text != "" {
		p.Others = append(p.Others, text)
	}
}

func visibleText(text []byte) string {
	tree, _ := html.Parse(bytes.NewReader(text))
	return article.VisibleText(tree, func(*html.Node) bool { return false })
}

func trafilaturaText(text []byte, u *url.URL) (s string) {
	defer func() { _ = recover() }()
	tree, _ := html.Parse(bytes.NewReader(text))
	if r, err := trafilatura.ExtractDocument(tree, trafilatura.Options{OriginalURL: u, ExcludeComments: true}); err == nil {
		return r.ContentText
	}
	return ""
}

func readabilityText(text []byte, u *url.URL) (s string) {
	defer func() { _ = recover() }()
	tree, _ := html.Parse(bytes.NewReader(text))
	if r, err := readability.FromDocument(tree, u); err == nil && r.Node != nil {
		return article.VisibleText(r.Node, func(*html.Node) bool { return false })
	}
	return ""
}

func collapseBlanks(s string) string { return strings.Join(strings.Fields(s), " ") }

func wordF1(a, b string) float64 {
	words := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	}
	x, y := words(a), words(b)
	left := map[string]int{}
	for _, w := range y {
		left[w]++
	}
	same := 0
	for _, w := range x {
		if left[w] > 0 {
			left[w]--
			same++
		}
	}
	return 2 * float64(same) / float64(max(1, len(x)+len(y)))
}
