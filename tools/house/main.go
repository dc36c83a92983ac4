// house prints the measures of the code base and exits with status 1 if one of them exceeds its limit. It counts the Go
// files of the product below the current folder: without tests, test data, generated files, benchmarks and findings.
//
//	go run -C tools ./house ..
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// measure is a row of the table. A value above limit fails.
type measure struct {
	name  string
	value float64
	limit float64 // what the code may not exceed
	aim   float64 // what it is on the way to
	where string
}

// house is what the files have.
type house struct {
	lines   map[string]int // by package
	methods map[string]int // by package and receiver
	longest int            // lines of a function
	where   string         // its name
	oneWord int
	hidden  int      // unexported functions
	bare    []string // functions that are named by a bare participle or adverb

}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	h := house{lines: map[string]int{}, methods: map[string]int{}}
	if err := h.walk(root); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	if !h.print() {
		os.Exit(1)
	}
}

// skipped are folders without product code.
var skipped = []string{"testdata", "findings", "node_modules", "bench"}

func (h *house) walk(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && strings.HasPrefix(d.Name(), ".") || slices.Contains(skipped, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return h.addFile(path, filepath.ToSlash(name))
	})
}

func (h *house) addFile(path, name string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.ParseComments)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	dir := filepath.Dir(name)
	h.lines[dir] += strings.Count(string(src), "\n")
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is {
			h.addFunction(dir, f, set.Position(f.End()).Line-set.Position(f.Pos()).Line+1)
		}
	}
	return nil
}

func (h *house) addFunction(dir string, f *ast.FuncDecl, lines int) {
	name := f.Name.Name
	if lines > h.longest {
		h.longest, h.where = lines, dir+"."+name
	}
	if f.Recv != nil {
		h.methods[dir+"."+receiverOf(f.Recv.List[0].Type)]++
	}
	switch {
	case ast.IsExported(name), name == "main", name == "init":
		return
	}
	h.hidden++
	if countWords(name) > 1 {
		return
	}
	h.oneWord++
	if bareWord.MatchString(name) && !slices.Contains(properWords, name) {
		h.bare = append(h.bare, dir+"."+name)
	}
}

func receiverOf(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverOf(t.X)
	case *ast.IndexExpr:
		return receiverOf(t.X)
	case *ast.IndexListExpr:
		return receiverOf(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

// countWords counts the words of a name in camel case.
func countWords(name string) int {
	n, r := 1, []rune(name)
	for i := 1; i < len(r); i++ {
		if unicode.IsUpper(r[i]) && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			n++
		}
	}
	return n
}

// bareWord finds participles, adverbs and prepositions, which do not say what a function does.
var bareWord = regexp.MustCompile(`^(.*(ed|ly|ing)|taken|given|known|shown|chosen|written|broken|drawn|grown|seen|gone|done|found|made|kept|held|left|sent|met|lost|told|said|bound|built|caught|hidden|frozen|woken|spoken|torn|worn|begun|over|under|again|away|back|off|on|out|in|up|down|here|there|now|then|once|soon|late|still|even|ever|never|apart|aside|ahead|behind|before|after|since|until|within|without|about|above|below|between|beyond|by|for|from|into|of|onto|to|upon|with|as|at|than|like|rests)$`)

// properWords look like those and are verbs or nouns.
var properWords = []string{"string", "substring", "need", "feed", "seed", "embed", "speed", "reply", "apply", "supply", "ping", "padding", "mapping", "spelling", "heading", "setting", "warning", "encoding", "proceed", "multiply"}

// Limits are what the code has now, so that it does not grow; aims are those of docs/style.md.
func (h *house) print() (good bool) {
	sum := 0
	for _, n := range h.lines {
		sum += n
	}
	lines, where := largest(h.lines)
	methods, receiver := largest(h.methods)
	slices.Sort(h.bare)
	good = true
	fmt.Printf("%-44s %8s %8s %8s\n", "", "now", "limit", "aim")
	for _, m := range []measure{
		{"lines of the product", float64(sum), 205000, 135000, ""},
		{"lines of a package", float64(lines), 4000, 4000, where},
		{"methods of a receiver", float64(methods), 60, 60, receiver},
		{"lines of a function", float64(h.longest), 80, 80, h.where},
		{"% of unexported functions with one word", 100 * float64(h.oneWord) / float64(max(h.hidden, 1)), 30, 30, ""},
		{"functions named by a bare participle or adverb", float64(len(h.bare)), 0, 0, strings.Join(h.bare[:min(len(h.bare), 20)], ", ")},
	} {
		fmt.Printf("%-44s %8.0f %8.0f %8.0f  %s\n", m.name, m.value, m.limit, m.aim, m.where)
		if m.value > m.limit {
			good = false
			fmt.Fprintf(os.Stderr, "house: %s: %.0f, at most %.0f\n", m.name, m.value, m.limit)
		}
	}
	return good
}

// largest returns the largest value and its key.
func largest(of map[string]int) (value int, key string) {
	for _, k := range slices.Sorted(maps.Keys(of)) {
		if of[k] > value {
			value, key = of[k], k
		}
	}
	return value, key
}
