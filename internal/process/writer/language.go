package writer

import (
	"bytes"

	"hce/dc/internal/web/htmltree"
)

// languages are names of programming languages that a class may have without a mark.
var languages = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range bytes.Fields([]byte("asm awk bash batch c c# c++ clojure cmake cpp cs csharp css d dart delphi diff docker dockerfile elixir elm erlang fish fortran fsharp go golang graphql " +
		"groovy haskell hcl html http ini java javascript jinja js json json5 jsx julia kotlin latex less lisp lua makefile markdown matlab mermaid nasm nginx nim nix objc ocaml pascal patch perl php " +
		"powershell prolog properties protobuf ps1 py python python3 r rb rs ruby rust sass scala scheme scss sed sh shell shell-session solidity sql svelte swift tcl tex toml ts tsx typescript vb vbnet vhdl " +
		"vim vue wasm xml yaml yml zig zsh console pycon ipython ipython3 psql plpgsql mysql properties xquery xslt")) {
		m[string(name)] = true
	}
	return m
}()

// languageOf returns the language of the listing at a node, as attributes of it, of the code in it and of the elements
// around it name it; nil: none does.
func languageOf(d *htmltree.Doc, at int32) []byte {
	n := &d.Nodes[at]
	if l := languageOfElement(d, n, true); l != nil {
		return l
	}
	for i := at + 1; i < min(n.End, at+6); i++ {
		if x := &d.Nodes[i]; x.Tag == htmltree.TagCode {
			if l := languageOfElement(d, x, true); l != nil {
				return l
			}
			break
		}
	}
	for k, p := 0, n.Parent; k < 3 && p > 0; k, p = k+1, d.Nodes[p].Parent {
		switch x := &d.Nodes[p]; x.Tag {
		case htmltree.TagDiv, htmltree.TagFigure, htmltree.TagTd, htmltree.TagTr, htmltree.TagTbody, htmltree.TagTable, htmltree.TagSpan, htmltree.TagOther:
			if l := languageOfElement(d, x, false); l != nil {
				return l
			}
		default:
			return nil
		}
	}
	return nil
}

// languageOfElement reads the attributes of an element. near is for pre and code.
func languageOfElement(d *htmltree.Doc, n *htmltree.Node, near bool) []byte {
	if n.A == n.B {
		return nil
	}
	if l := cleanLanguage(d.Attr(n, htmltree.KeyDataLanguage)); l != nil {
		return l
	}
	if l := languageOfClass(d.Attr(n, htmltree.KeyClass), near); l != nil {
		return l
	}
	if l := d.Attr(n, htmltree.KeyLang); near && languages[string(l)] {
		return cleanLanguage(l)
	}
	return nil
}

// prefixes are the beginnings of classes that name a language.
var prefixes = [...]string{"language-", "lang-", "highlight-source-", "highlight-text-", "highlight-", "code-", "brush-", "src-"}

// languageOfClass finds the language in the names of a class, such as language-go, highlight-source-go, brush: go. near
// is for pre and code, where a name alone counts, and the one after sourceCode or programlisting.
func languageOfClass(class []byte, near bool) []byte {
	known := []byte(nil)
	for len(class) > 0 {
		var name []byte
		name, class = cutField(class)
		if l := languageOfName(name, class, near); l != nil {
			return l
		}
		if known == nil && near && languages[string(bytes.ToLower(name))] {
			known = name
		}
	}
	return cleanLanguage(known)
}

func cutField(s []byte) (field, rest []byte) {
	i := 0
	for i < len(s) && !htmltree.IsSpace(s[i]) {
		i++
	}
	return s[:i], bytes.TrimLeft(s[i:], " \t\n\r\f")
}

// languageOfName reads one name of a class; rest are the names behind it.
func languageOfName(name, rest []byte, near bool) []byte {
	for _, prefix := range prefixes {
		if htmltree.HasPrefix(name, prefix) {
			l := name[len(prefix):]
			if (prefix == "code-" || prefix == "highlight-" || prefix == "brush-" || prefix == "src-") && !languages[string(l)] && string(l) != "python3" && !(near && prefix == "src-") {
				return nil
			}
			return cleanLanguage(l)
		}
	}
	switch string(name) {
	case "brush:":
	case "sourceCode", "programlisting", "src", "prettyprint":
		if !near {
			return nil
		}
	default:
		if htmltree.HasPrefix(name, "brush:") {
			return cleanLanguage(name[6:])
		}
		return nil
	}
	l, _ := cutField(rest)
	return cleanLanguage(bytes.TrimSuffix(l, []byte(";")))
}

// cleanLanguage returns the name of a language for the info string of a fence, or nil if l is no such name.
func cleanLanguage(l []byte) []byte {
	l = bytes.TrimSuffix(l, []byte(";"))
	if len(l) == 0 || len(l) > 20 {
		return nil
	}
	switch string(l) {
	case "default", "none", "text", "plain", "plaintext", "plain_text", "nohighlight", "no-highlight", "notranslate", "literal", "linenums", "auto", "unknown", "txt", "numberLines":
		return nil
	case "python3", "ipython3", "pycon", "pycon3":
		return []byte("python")
	}
	for _, c := range l {
		if !isWord(c) && c != '+' && c != '#' && c != '-' && c != '_' && c != '.' {
			return nil
		}
	}
	return l
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
