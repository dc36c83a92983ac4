package main

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const largestFile = 16 << 20 // bytes of a file that is read

// collectTexts reads the Debian packages of a folder and writes the texts of each to
// OUT/PACKAGE/LANGUAGE.txt: a block of text in each line, and a line with a form feed after
// each document.
func collectTexts(debs, out string) error {
	names, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := collectPackage(name, out); err != nil {
			return fmt.Errorf("read package %s: %w", name, err)
		}
	}
	return nil
}

func collectPackage(deb, out string) error {
	texts := map[string]*strings.Builder{}
	err := eachFile(deb, func(path string, read func() ([]byte, error)) error {
		extract, lang := findReader(path)
		if extract == nil {
			return nil
		}
		data, err := read()
		if err != nil {
			return err
		}
		addDocument(texts, lang, extract(data))
		return nil
	})
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(filepath.Base(deb), "_")
	return writeTexts(filepath.Join(out, name), texts)
}

// addDocument adds the blocks of a document that are text.
func addDocument(texts map[string]*strings.Builder, lang string, blocks []string) {
	if texts[lang] == nil {
		texts[lang] = &strings.Builder{}
	}
	b, n := texts[lang], texts[lang].Len()
	for _, block := range blocks {
		if block = cleanBlock(block); block != "" {
			b.WriteString(block + "\n")
		}
	}
	if b.Len() > n {
		b.WriteString("\f\n")
	}
}

func writeTexts(dir string, texts map[string]*strings.Builder) error {
	for lang, b := range texts {
		if b.Len() == 0 {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, lang+".txt"), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// eachFile calls visit for each regular file of a package, in the order of its archive.
func eachFile(deb string, visit func(path string, read func() ([]byte, error)) error) error {
	cmd := exec.Command("dpkg-deb", "--fsys-tarfile", deb)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for r := tar.NewReader(pipe); ; {
		h, err := r.Next()
		if err == io.EOF {
			return cmd.Wait()
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || h.Size > largestFile {
			continue
		}
		read := func() ([]byte, error) { return io.ReadAll(r) }
		if err := visit(strings.TrimPrefix(h.Name, "./"), read); err != nil {
			return err
		}
	}
}

// A reader returns the blocks of text of a file.
type reader func(data []byte) []string

// findReader returns how to read a file of a package, and its language by its path. The
// reader is nil for a file without text in a known language.
func findReader(path string) (reader, string) {
	parts := strings.Split(path, "/")
	name := parts[len(parts)-1]
	after := func(folder string) string {
		if i := slices.Index(parts, folder); i >= 0 && i+2 < len(parts) {
			return tagOf(parts[i+1])
		}
		return ""
	}
	switch {
	case strings.HasSuffix(name, ".mo") && len(parts) > 2 && parts[len(parts)-2] == "LC_MESSAGES":
		return ifLanguage(readCatalog, tagOf(parts[len(parts)-3]))
	case strings.HasSuffix(name, ".mo") && strings.Contains(path, "wp-content/languages"):
		return ifLanguage(readCatalog, tagOf(name[strings.LastIndex(name, "-")+1:len(name)-3]))
	case strings.HasSuffix(name, ".json") && len(parts) > 2 && parts[len(parts)-2] == "i18n":
		return ifLanguage(readMessages, tagOf(strings.TrimSuffix(name, ".json")))
	case strings.HasSuffix(name, ".xpi") && strings.HasPrefix(name, "langpack-"):
		lang, _, _ := strings.Cut(strings.TrimPrefix(name, "langpack-"), "@")
		return ifLanguage(readLangpack, tagOf(lang))
	case strings.HasSuffix(name, ".page"):
		return ifLanguage(readMarkup, after("help"))
	case strings.HasPrefix(name, "tutor.") && strings.Contains(path, "/vim"):
		return ifLanguage(readPlain, tagOf(strings.TrimSuffix(strings.TrimPrefix(name, "tutor."), ".utf-8")))
	case strings.Contains(path, "games/fortunes/") && !strings.Contains(name, "."):
		return ifLanguage(readPlain, after("fortunes"))
	case strings.HasSuffix(name, ".gz") && strings.Contains(path, "share/man/"):
		return ifLanguage(readManual, after("man"))
	case strings.HasSuffix(name, ".html"):
		return ifLanguage(readMarkup, languageOfPage(path, parts, after))
	}
	return nil, ""
}

// englishDocs are packages with documents in English only.
var englishDocs = []string{"anarchism", "git-doc", "git", "debian-policy"}

// languageOfPage returns the language of an HTML page of documentation by its folder
// (html/de-DE, help/de, installation-guide-amd64/de) or name (ch01.de.html).
func languageOfPage(path string, parts []string, after func(string) string) string {
	name := strings.TrimSuffix(parts[len(parts)-1], ".html")
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return tagOf(name[i+1:])
	}
	for _, folder := range []string{"help", "html", "manual", "installation-guide-amd64"} {
		if lang := after(folder); lang != "" {
			return lang
		}
	}
	if slices.Contains(englishDocs, parts[min(3, len(parts)-1)]) {
		return "en"
	}
	for _, doc := range []string{"maint-guide-", "developers-reference-", "debian-faq-"} {
		if _, rest, ok := strings.Cut(path, "doc/"+doc); ok {
			lang, _, _ := strings.Cut(rest, "/")
			return tagOf(lang)
		}
	}
	return ""
}

// ifLanguage returns a reader and the language of its file; none without a language.
func ifLanguage(r reader, lang string) (reader, string) {
	if lang == "" {
		return nil, ""
	}
	return r, lang
}
