package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"hce/dc/internal/process/choice"
)

// record is a line of pages.jsonl. The page is html/ID.html.
type record struct {
	ID   string `json:"id"`
	URL  string `json:"url"`
	Type string `json:"type"` // a kind of page, or "taught" for articles whose text other extractors found

	Text    string   `json:"text,omitempty"`    // its main text
	Others  []string `json:"others,omitempty"`  // the main text as others see it; lines they disagree on count less
	With    []string `json:"with,omitempty"`    // parts of the main text
	Without []string `json:"without,omitempty"` // texts that are not part of it

	Generator string `json:"generator,omitempty"` // with Main: the content is what is inside of the element Main
	Main      string `json:"main,omitempty"`
	Drop      string `json:"drop,omitempty"`
}

// page is an annotated page.
type page struct {
	record
	html   []byte
	group  string // pages of a group are in one fold
	fold   int
	weight float32
	shadow bool // a changed copy of another page: for training only

	trial  choice.Trial
	lines  []string
	words  [][]string
	labels []bool
	sure   []float32 // weight of each label
	total  float32   // weight of all lines
	title  int       // -1: none

	pageRow []float32
	kinds   []float32
	x       [][]float32
	first   []float32
}

// isMarked reports whether a generator marks the content of the page.
func (p *page) isMarked() bool { return p.Main != "" }

// wordsOf returns the words of a text in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

func hashOf(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return strings.TrimPrefix(u.Host, "www.")
}

// readFolders reads annotated pages. Pages without a known text are left out.
func readFolders(dirs []string) (pages []*page, err error) {
	for _, dir := range dirs {
		list, err := readFolder(dir)
		if err != nil {
			return nil, err
		}
		pages = append(pages, list...)
	}
	return pages, nil
}

func readFolder(dir string) (pages []*page, err error) {
	file, err := os.Open(filepath.Join(dir, "pages.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		p := &page{weight: 1, title: -1}
		if err := json.Unmarshal(in.Bytes(), &p.record); err != nil {
			return nil, fmt.Errorf("read %s: %w", file.Name(), err)
		}
		if p.html, err = os.ReadFile(filepath.Join(dir, "html", p.ID+".html")); err != nil {
			return nil, err
		}
		if !utf8.Valid(p.html) {
			p.html = []byte(strings.ToValidUTF8(string(p.html), "\uFFFD"))
		}
		if p.Text != "" || p.isMarked() {
			pages = append(pages, p)
		}
	}
	return pages, in.Err()
}

// prepareLines reads the lines of a page and labels them. It returns false for pages that are of no use.
func (p *page) prepareLines() bool {
	p.group = hostOf(p.URL)
	if p.group == "" {
		p.group = p.ID
	}
	if p.isMarked() {
		p.group = generatorFamily(p.Generator)
	}
	address := p.URL
	if hashOf(p.ID)%10 < 3 {
		address = "" // some pages come without an address, as a file has none
	}
	for i := range p.trial.Read(p.html, address) {
		t := p.trial.Text(i)
		p.lines, p.words = append(p.lines, t), append(p.words, wordsOf(t))
		if p.trial.IsTitle(i) {
			p.title = i
		}
	}
	p.sure = make([]float32, len(p.lines))
	for i := range p.sure {
		p.sure[i] = 1
	}
	if p.isMarked() {
		p.labels = p.trial.Inside(p.Main, p.Drop)
		p.Text = p.joinLines(p.labels)
	} else {
		p.labels = labelLines(p.words, p.Text)
		p.weightLabels()
	}
	if len(p.labels) == 0 || strings.TrimSpace(p.Text) == "" {
		return false
	}
	p.pageRow = p.trial.Page(nil)
	return wordF1(p.joinLines(p.labels), p.Text) >= 0.6 // else the text is not in the page
}

// weightLabels gives labels that others do not share less weight, and corrects those that snippets contradict.
func (p *page) weightLabels() {
	for _, other := range p.Others {
		for i, in := range labelLines(p.words, other) {
			if in != p.labels[i] {
				p.sure[i] -= 0.7 / float32(len(p.Others))
			}
		}
	}
	for i, t := range p.lines {
		switch {
		case !p.labels[i] && containsAny(t, p.With):
			p.labels[i], p.sure[i] = true, 1
		case p.labels[i] && containsAny(t, p.Without):
			p.labels[i], p.sure[i] = false, 1
		}
	}
}

func containsAny(text string, parts []string) bool {
	for _, s := range parts {
		if s = strings.Join(strings.Fields(s), " "); len(s) >= 8 && strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// joinLines returns the chosen lines without the title.
func (p *page) joinLines(chosen []bool) string {
	var b strings.Builder
	for i, t := range p.lines {
		if i < len(chosen) && chosen[i] && i != p.title {
			b.WriteString(t)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
