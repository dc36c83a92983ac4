package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"html"
	"io"
	"maps"
	"slices"
	"strings"
)

// readCatalog returns the translations of a gettext catalog (.mo) that differ from their
// originals.
func readCatalog(data []byte) []string {
	var order binary.ByteOrder = binary.LittleEndian
	if len(data) < 28 || order.Uint32(data) != 0x950412de {
		if order = binary.BigEndian; len(data) < 28 || order.Uint32(data) != 0x950412de {
			return nil
		}
	}
	text := func(table uint32, i int) string {
		at := int(table) + 8*i
		if at+8 > len(data) {
			return ""
		}
		size, from := int(order.Uint32(data[at:])), int(order.Uint32(data[at+4:]))
		if from+size > len(data) {
			return ""
		}
		return string(data[from : from+size])
	}
	var blocks []string
	for i := range int(order.Uint32(data[8:])) {
		original, translated := text(order.Uint32(data[12:]), i), text(order.Uint32(data[16:]), i)
		if original == "" || original == translated {
			continue
		}
		first, _, _ := strings.Cut(translated, "\x00") // the other plural forms are like it
		blocks = append(blocks, stripMarkup(first)...)
	}
	return blocks
}

// readMessages returns the texts of a JSON object of messages.
func readMessages(data []byte) []string {
	var messages map[string]any
	if json.Unmarshal(data, &messages) != nil {
		return nil
	}
	var blocks []string
	for _, key := range slices.Sorted(maps.Keys(messages)) {
		if text, ok := messages[key].(string); ok && !strings.HasPrefix(key, "@") {
			blocks = append(blocks, stripMarkup(text)...)
		}
	}
	return blocks
}

// readLangpack returns the messages of the Fluent and properties files of a language pack.
func readLangpack(data []byte) []string {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	var blocks []string
	for _, f := range r.File {
		if !strings.HasSuffix(f.Name, ".ftl") && !strings.HasSuffix(f.Name, ".properties") {
			continue
		}
		if in, err := f.Open(); err == nil {
			text, _ := io.ReadAll(in)
			blocks = append(blocks, readValues(string(text))...)
		}
	}
	return blocks
}

// readValues returns the values of lines "name = value".
func readValues(text string) []string {
	var blocks []string
	for line := range strings.Lines(text) {
		if _, value, ok := strings.Cut(line, "="); ok && line[0] != '#' {
			blocks = append(blocks, stripMarkup(value)...)
		}
	}
	return blocks
}

func readMarkup(data []byte) []string { return stripMarkup(string(data)) }

// readPlain returns the paragraphs of a text.
func readPlain(data []byte) []string {
	return strings.FieldsFunc(strings.ReplaceAll(string(data), "\n\n", "\f"), func(c rune) bool { return c == '\f' || c == '%' })
}

// readManual returns the lines of text of a packed page of the manual.
func readManual(data []byte) []string {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(r)
	var blocks []string
	var block strings.Builder
	for line := range strings.Lines(string(text)) {
		if line[0] == '.' || line[0] == '\'' || line == "\n" {
			blocks = append(blocks, block.String())
			block.Reset()
			continue
		}
		block.WriteString(roff.Replace(line))
	}
	return append(blocks, block.String())
}

var roff = strings.NewReplacer(`\fB`, "", `\fI`, "", `\fR`, "", `\fP`, "", `\-`, "-", `\(aq`, "'", `\&`, "", `\ `, " ", `\(cq`, "'", `\(oq`, "'", `\(lq`, `"`, `\(rq`, `"`)

// skipped are elements whose content is not text.
var skipped = []string{"script", "style", "pre", "code", "programlisting", "screen", "title", "credit", "info"}

// blockTags are elements that begin and end a block.
const blockTags = " p div li ul ol dl dt dd h1 h2 h3 h4 h5 h6 td th tr table body section note item title br hr "

// stripMarkup returns the blocks of a text without its tags and entities.
func stripMarkup(text string) []string {
	var blocks []string
	var block strings.Builder
	end := func() {
		blocks = append(blocks, html.UnescapeString(block.String()))
		block.Reset()
	}
	for {
		before, rest, found := strings.Cut(text, "<")
		block.WriteString(before)
		if !found {
			break
		}
		tag, after, found := strings.Cut(rest, ">")
		if !found {
			break
		}
		text = after
		name, _, _ := strings.Cut(strings.Trim(strings.ToLower(tag), "/"), " ")
		if slices.Contains(skipped, name) && tag[0] != '/' && !strings.HasSuffix(tag, "/") {
			if _, after, found := strings.Cut(text, "</"+name); found {
				text = after[min(len(after), 1):]
			}
		}
		if strings.Contains(blockTags, " "+name+" ") {
			end()
		}
	}
	end()
	return blocks
}
