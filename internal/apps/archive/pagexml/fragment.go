package pagexml

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/apps/archive"
)

// Limits of XML that clients add.
const (
	MaxContent  = 1 << 20 // bytes of one node
	MaxDocument = 8 << 20 // bytes of data.xml
	maxNesting  = 64
	maxParts    = 100_000 // elements, texts and comments of one node
	maxName     = 100     // bytes
)

// nodeName is a name of a node below data: an XML name without a prefix, in ASCII.
var nodeName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// CheckName refuses a name that a node below data cannot have.
func CheckName(name string) error {
	if len(name) > maxName || !nodeName.MatchString(name) || strings.HasPrefix(strings.ToLower(name), "xml") {
		return fmt.Errorf("tag name %.120q %w: expected at most %d ASCII letters, digits, _ - and ., with a letter or _ first, and not xml", name, archive.ErrInvalid, maxName)
	}
	return nil
}

// localName is a part of a name inside of a node.
var localName = regexp.MustCompile(`^[\pL_][\pL\pN\pM_.\x{B7}-]*$`)

const xmlSpace = "http://www.w3.org/XML/1998/namespace"

// fragment writes XML content of a client again, token by token.
type fragment struct {
	out   strings.Builder
	open  []xml.Name
	names []map[string]string // prefixes that each open element declares
	parts int
}

// makeNode returns the node with that name and content, well-formed.
func makeNode(name, content string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	if len(content) > MaxContent {
		return "", fmt.Errorf("content of tag %s %w: it has more than %d bytes", name, archive.ErrInvalid, MaxContent)
	}
	f := &fragment{}
	if err := f.copyText("<" + name + ">" + content + "</" + name + ">"); err != nil {
		return "", fmt.Errorf("content of tag %s %w as XML: %w", name, archive.ErrInvalid, err)
	}
	return f.out.String(), nil
}

func (f *fragment) copyText(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("it is not UTF-8")
	}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && len(f.open) == 0 && f.parts > 0:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("an element is not closed")
		case err != nil:
			return err
		}
		if f.parts++; f.parts > maxParts {
			return fmt.Errorf("it has more than %d parts", maxParts)
		}
		if len(f.open) == 0 && f.parts > 1 {
			return errors.New("it closes an element that it did not open")
		}
		if err := f.writeToken(token); err != nil {
			return err
		}
	}
}

func (f *fragment) writeToken(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return f.startElement(t)
	case xml.EndElement:
		last := len(f.open) - 1
		if last < 0 || f.open[last] != t.Name {
			return fmt.Errorf("</%s> closes nothing", qualifiedName(t.Name))
		}
		f.open, f.names = f.open[:last], f.names[:last]
		f.out.WriteString("</" + qualifiedName(t.Name) + ">")
	case xml.CharData:
		f.out.WriteString(escapeText(string(t)))
	case xml.Comment:
		if strings.Contains(string(t), "--") || strings.HasSuffix(string(t), "-") {
			return errors.New("a comment has --")
		}
		f.out.WriteString("<!--" + strings.ReplaceAll(string(t), "\r", "\n") + "-->")
	default:
		return errors.New("document types and processing instructions are not supported")
	}
	return nil
}

func (f *fragment) startElement(t xml.StartElement) error {
	if len(f.open) >= maxNesting {
		return fmt.Errorf("elements are nested deeper than %d", maxNesting)
	}
	declared := map[string]string{}
	for _, a := range t.Attr {
		switch {
		case a.Name.Space == "xmlns" && (a.Value == "" || a.Name.Local == "xmlns" || a.Name.Local == "xml" || a.Value == xmlSpace):
			return fmt.Errorf("the prefix %s cannot be declared so", a.Name.Local)
		case a.Name.Space == "xmlns":
			declared[a.Name.Local] = a.Value
		}
	}
	f.open, f.names = append(f.open, t.Name), append(f.names, declared)
	if err := f.checkName(t.Name); err != nil {
		return err
	}
	f.out.WriteString("<" + qualifiedName(t.Name))
	seen := map[xml.Name]bool{}
	for _, a := range t.Attr {
		if err := f.writeAttribute(a, seen); err != nil {
			return err
		}
	}
	f.out.WriteString(">")
	return nil
}

// writeAttribute writes an attribute. Two names are equal if their prefixes mean the same.
func (f *fragment) writeAttribute(a xml.Attr, seen map[xml.Name]bool) error {
	if a.Name.Space != "xmlns" {
		if err := f.checkName(a.Name); err != nil {
			return err
		}
	}
	full := xml.Name{Space: f.namespaceOf(a.Name.Space), Local: a.Name.Local}
	if seen[full] {
		return fmt.Errorf("attribute %s is there twice", qualifiedName(a.Name))
	}
	seen[full] = true
	f.out.WriteString(" " + qualifiedName(a.Name) + `="` + escapeText(a.Value) + `"`)
	return nil
}

// checkName refuses a name that is no XML name, and a prefix that is not declared.
func (f *fragment) checkName(n xml.Name) error {
	if !localName.MatchString(n.Local) || n.Space != "" && !localName.MatchString(n.Space) {
		return fmt.Errorf("%q is not a name", qualifiedName(n))
	}
	if n.Space == "xmlns" || n.Space != "" && f.namespaceOf(n.Space) == "" {
		return fmt.Errorf("the prefix of %s is not declared", qualifiedName(n))
	}
	return nil
}

// namespaceOf returns the namespace of a prefix, "" if it is not declared.
func (f *fragment) namespaceOf(prefix string) string {
	switch prefix {
	case "":
		return ""
	case "xml":
		return xmlSpace
	case "xmlns":
		return "http://www.w3.org/2000/xmlns/"
	}
	for i := len(f.names) - 1; i >= 0; i-- {
		if space, ok := f.names[i][prefix]; ok {
			return space
		}
	}
	return ""
}

func qualifiedName(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// escapeText writes a text of an element or of an attribute in quotes.
func escapeText(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes all
	return b.String()
}
