package pagexml

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
)

var page = archive.Meta{
	URL: "https://example.org/?a=1&b=<2>", MIMEType: "text/html", Title: `Title "with" <marks> & more`, Path: "content/example.org/index?a", Domain: "example.org",
	CommitTime: time.Date(2026, 3, 1, 12, 0, 0, 0, archive.Zone), CreateTime: time.Date(2012, 5, 16, 0, 0, 1, 0, archive.Zone), CommitTag: "example.org@2026-03-01T12:00:00",
}

func add(t *testing.T, document []byte, name, content string) []byte {
	t.Helper()
	longer, err := Add(document, name, content)
	if err != nil {
		t.Fatal(err)
	}
	return longer
}

// Metadata reads back, and neither they nor earlier nodes change when nodes are added.
func TestReadBack(t *testing.T) {
	document := New(page)
	contents := map[string]string{"words": "12", "tree": `<a x="1&lt;"><b/>text &amp; <!-- c --></a>`, "empty": "", "text": "a\r\nb \u2028"}
	names := []string{"words", "tree", "empty", "text"}
	for _, name := range names {
		before := document
		document = add(t, document, name, contents[name])
		head, tail, _ := bytes.Cut(before, []byte("</data>"))
		if !bytes.HasPrefix(document, head) || !bytes.HasSuffix(document, tail) {
			t.Errorf("%s changes other bytes:\n%s", name, document)
		}
	}
	p, err := Read(document)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p.Meta, page) || !slices.Equal(p.Names, names) {
		t.Errorf("%+v, %v", p.Meta, p.Names)
	}
	for name, want := range map[string]string{
		"words": "<words>12</words>", "tree": `<tree><a x="1&lt;"><b></b>text &amp; <!-- c --></a></tree>`, "empty": "<empty></empty>", "text": "<text>a&#xA;b \u2028</text>",
	} {
		if got, found := p.Node(name); got != want || !found {
			t.Errorf("node %q, want %q", got, want)
		}
	}
	odd := page
	odd.Title = "a\x00b\xff\nc\x1b[31m "
	if p, err = Read(New(odd)); err != nil || p.Meta.Title != "a b\ufffd c [31m" || p.Meta.Title != Normal(odd).Title {
		t.Errorf("title %q, %v", p.Meta.Title, err)
	}
}

// hostile are contents that clients cannot add.
var hostile = []string{
	"<a>", "</a>", "</x>", "</x><x>", "<a></b>", "<!DOCTYPE x [<!ENTITY a 'b'>]>", "&a;", "&nbsp;", "<?php x?>", "<a b=1/>", "<a b='1' b='2'/>", "<p:a/>", "<a p:b='1'/>",
	`<a xmlns:p="u" xmlns:q="u" p:x="1" q:x="2"/>`, `<a xmlns:xml="u"/>`, `<a xmlns:p=""/>`, `<a xmlns:xmlns="u"/>`, "a\x00", "a\x1b", "\xff", "&#0;", "&#x1f;", "]]>", "<a:b:c/>", "<1/>", "< a/>", "<a b/>",
	"<!-- -- -->", "<!--->", "<![CDATA[", "<!--", "<a", "&", "<", "<xmlns:a/>", strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100), strings.Repeat("x", MaxContent+1), "\ufffe",
}

func TestHostileContent(t *testing.T) {
	document := New(page)
	for _, content := range hostile {
		if longer, err := Add(document, "x", content); err == nil {
			t.Errorf("%.60q is accepted:\n%.1000s", content, longer)
		}
	}
	for _, name := range []string{"", "a b", "1", "a:b", "xml", "XMLx", "<", "ä", "a/b", "-a", strings.Repeat("a", 101), "a>"} {
		if _, err := Add(document, name, ""); err == nil {
			t.Errorf("name %q is accepted", name)
		}
	}
	if _, err := Add(add(t, document, "x", "1"), "x", "2"); err == nil {
		t.Error("a node is there twice")
	}
}

// validators are programs that read a schema and documents, and say of each that it is valid.
var validators = map[string]struct {
	args  []string
	valid string
}{
	"xmllint":            {[]string{"--noout", "--nonet", "--schema", "page.xsd"}, "%s validates"},
	"xmlschema-validate": {[]string{"--schema", "page.xsd"}, "%s is valid"},
}

// refusedBy validates documents against a schema, and returns those that a validator refuses.
func refusedBy(t testing.TB, program string, schema []byte, documents [][]byte) (refused []int) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("page.xsd", schema)
	validator := validators[program]
	args := slices.Clone(validator.args)
	for i, d := range documents {
		write(fmt.Sprintf("%d.xml", i), d)
		args = append(args, fmt.Sprintf("%d.xml", i))
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || strings.Contains(string(out), "Schemas parser error") || strings.Contains(string(out), "failed to compile") || strings.Contains(string(out), "Traceback") {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	for i := range documents {
		if !strings.Contains("\n"+string(out), "\n"+fmt.Sprintf(validator.valid, fmt.Sprintf("%d.xml", i))+"\n") {
			refused = append(refused, i)
		}
	}
	return refused
}

// What New writes is valid under the schema of a new archive and under later ones, whatever a server says.
func TestNewIsValid(t *testing.T) {
	documents := [][]byte{New(page), New(archive.Meta{})}
	for _, at := range []time.Time{time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 30, 0, 0, time.UTC), time.Date(123456, 1, 1, 0, 0, 0, 0, time.UTC)} {
		m := page
		m.CreateTime = at
		documents = append(documents, New(m))
		if p, err := Read(New(m)); err != nil || p.Meta != Normal(m) {
			t.Errorf("%s: %+v, %v", at, p, err)
		}
	}
	for _, title := range []string{"a\x00b\xff\nc\x1b[31m ", "]]></title><!-- &amp;", "\ufffe\ud7ff\U0010ffff\x7f\u0085\u2028", strings.Repeat("ü", 5000)} {
		m := page
		m.Title, m.MIMEType, m.KeptFrom, m.KeptCause = title, title, page.CommitTag, "HTTP_ERROR "+title
		documents = append(documents, New(m))
		if p, err := Read(New(m)); err != nil || p.Meta != Normal(m) {
			t.Errorf("%q: %+v, %v", title, p, err)
		}
	}
	for program := range validators {
		for _, schema := range []Schema{NewSchema(), NewSchema("words")} {
			if refused := refusedBy(t, program, schema.Text(), documents); len(refused) > 0 {
				t.Errorf("%s with %d names refuses %v:\n%s", program, len(schema.names), refused, documents[refused[0]])
			}
		}
	}
	withNode := add(t, New(page), "words", "1")
	for program := range validators {
		if len(refusedBy(t, program, NewSchema().Text(), [][]byte{withNode})) == 0 || Validate(withNode, NewSchema()) == nil {
			t.Errorf("%s accepts a node that the schema does not have", program)
		}
	}
}

// The shipped schema, read by other programs, accepts what this package writes, and refuses what
// Validate refuses.
func TestSchemaAgreesWithValidators(t *testing.T) {
	schema := NewSchema("words", "tree", "empty", "r")
	kept := page
	kept.KeptFrom, kept.KeptCause = "example.org@2012-05-16T00:00:01", "HTTP_ERROR"
	whole := add(t, add(t, add(t, New(kept), "words", "12"), "tree", `<a xmlns:p="u" p:x="1"><p:b>é</p:b> text<!--c--></a>`), "empty", "")
	documents := map[string][]byte{"empty": New(page), "whole": whole}
	replace := func(name, old, by string) {
		if !bytes.Contains(whole, []byte(old)) {
			t.Fatalf("%s: no %q", name, old)
		}
		documents[name] = bytes.Replace(whole, []byte(old), []byte(by), 1)
	}
	replace("unknown node", "<words>12</words>", "<others>12</others>")
	replace("node twice", "<empty></empty>", "<empty/><empty/>")
	replace("other order of nodes", "<words>12</words>", "<r/>")
	replace("text between nodes", "<words>12</words>", "<words>12</words> x")
	replace("no time", "2012-05-16T00:00:01", "2012-05-16")
	replace("no such time", "2012-05-16T00:00:01", "2012-13-16T00:00:01")
	replace("zone", "2012-05-16T00:00:01", "2012-05-16T00:00:01Z")
	replace("no older version", "  <keptFrom>example.org@2012-05-16T00:00:01</keptFrom>\n", "")
	replace("older version twice", "<keptCause>HTTP_ERROR</keptCause>", "<keptFrom>x</keptFrom>")
	replace("other order of fields", "  <keptFrom>example.org@2012-05-16T00:00:01</keptFrom>\n  <keptCause>HTTP_ERROR</keptCause>\n", "  <keptCause/>\n  <keptFrom/>\n")
	replace("unknown field", "<keptCause>HTTP_ERROR</keptCause>", "<more/>")
	replace("missing field", "  <mimeType>text/html</mimeType>\n", "")
	replace("field twice", "  <mimeType>text/html</mimeType>\n", "  <mimeType>text/html</mimeType>\n  <mimeType>text/html</mimeType>\n")
	replace("field with a node", "text/html</mimeType>", "text/html<x/></mimeType>")
	replace("attribute", "<meta>", "<meta x='1'>")
	replace("attribute of a node", "<words>", "<words x='1'>")
	replace("second meta", "<data>", "<meta/><data>")
	replace("no data", "<data>", "<dat>")
	replace("other root", "<page>", "<pages>")
	replace("comment", "<data>", "<!-- x --><data>")
	replace("cut", "</page>", "")
	replace("more", "</page>", "</page><page/>")
	replace("undeclared prefix", "<a xmlns:p", "<a xmlns:q")
	for program := range validators {
		var names []string
		var list [][]byte
		for name, document := range documents {
			// xmlschema-validate ends at the first document that is not well-formed.
			if program == "xmllint" || !slices.Contains([]string{"cut", "more", "no data", "other root", "undeclared prefix"}, name) {
				names, list = append(names, name), append(list, document)
			}
		}
		refused := refusedBy(t, program, schema.Text(), list)
		for i, document := range list {
			if names[i] == "undeclared prefix" { // Add refuses it; a stored one does no harm
				continue
			}
			if err := Validate(document, schema); (err != nil) != slices.Contains(refused, i) {
				t.Errorf("%s: %v, %s refuses it: %v", names[i], err, program, slices.Contains(refused, i))
			}
		}
		if len(refused) < 14 || slices.Contains(refused, slices.Index(names, "whole")) {
			t.Errorf("%s refuses %d documents", program, len(refused))
		}
	}
}

// Schemas of earlier programs are read.
func TestFormerSchema(t *testing.T) {
	for _, schema := range []Schema{NewSchema(), NewSchema("a", "b")} {
		if strings.Contains(schema.formerText(), "kept") || schema.formerText() == string(schema.Text()) {
			t.Error(schema.formerText())
		}
		if read, err := ReadSchema([]byte(schema.formerText())); err != nil || !reflect.DeepEqual(read, schema) {
			t.Errorf("%v, %v", read, err)
		}
	}
}

func TestSchema(t *testing.T) {
	schema := NewSchema("b")
	for _, name := range []string{"a", "b", "c.d-e"} {
		var err error
		if schema, err = schema.With(name); err != nil {
			t.Fatal(err)
		}
	}
	read, err := ReadSchema(schema.Text())
	if err != nil || !reflect.DeepEqual(read, schema) {
		t.Errorf("%v, %v", read, err)
	}
	if _, err := schema.With("<"); err == nil {
		t.Error("a wrong name is accepted")
	}
	if _, err := ReadSchema(bytes.Replace(schema.Text(), []byte(`minOccurs="0"`), nil, 1)); err == nil {
		t.Error("a changed schema is accepted")
	}
}

// What Add accepts reads back, leaves everything else as it is, and is well-formed for xmllint as well.
func FuzzAdd(f *testing.F) {
	f.Add("12")
	f.Add(`<a xmlns:p="u" p:x="1"><p:b>é</p:b> text<!--c--><![CDATA[<]]></a>`)
	for _, content := range hostile {
		if len(content) < 1000 {
			f.Add(content)
		}
	}
	document := add(&testing.T{}, New(page), "first", "1")
	f.Fuzz(func(t *testing.T, content string) {
		longer, err := Add(document, "x", content)
		if err != nil {
			return
		}
		p, err := Read(longer)
		if err != nil {
			t.Fatalf("%v\n%s", err, longer)
		}
		if node, _ := p.Node("first"); node != "<first>1</first>" || !reflect.DeepEqual(p.Meta, page) || !slices.Equal(p.Names, []string{"first", "x"}) {
			t.Errorf("other parts have changed:\n%s", longer)
		}
		node, _ := p.Node("x")
		inner := strings.TrimSuffix(strings.TrimPrefix(node, "<x>"), "</x>")
		again, err := Add(document, "x", inner)
		if err != nil || !bytes.Equal(again, longer) {
			t.Errorf("written again: %v\n%s\n%s", err, again, longer)
		}
		if os.Getenv("FUZZ_XMLLINT") != "" && len(refusedBy(t, "xmllint", NewSchema("first", "x").Text(), [][]byte{longer})) > 0 {
			t.Errorf("xmllint refuses\n%s", longer)
		}
	})
}

// Read never panics, and what it reads can be extended.
func FuzzRead(f *testing.F) {
	f.Add(New(page))
	f.Add(bytes.Replace(New(page), []byte("<data>"), []byte("<data><x/>"), 1))
	f.Fuzz(func(t *testing.T, document []byte) {
		p, err := Read(document)
		if err != nil {
			return
		}
		if _, found := p.Node("zz"); found {
			return
		}
		longer, err := Add(document, "zz", "1")
		if err != nil {
			t.Fatal(err)
		}
		if q, err := Read(longer); err != nil || len(q.Names) != len(p.Names)+1 {
			t.Errorf("%v\n%s", err, longer)
		}
	})
}
