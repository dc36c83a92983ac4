// Package treesize estimates the size of a page's tree before the page is parsed: by the
// HTML standard, 80 kB of text can give a tree of a gigabyte.
//
//	if treesize.HTML(text, maxNodes) > maxNodes { return ErrCostly }
//
// It makes one pass with a tokenizer. Sources: HTML standard 13.2.4.3 and 13.2.6.
package treesize

import (
	"bytes"
	"slices"

	"golang.org/x/net/html"
)

// formatting lists the elements that the HTML standard reopens in each paragraph until they
// are closed.
var formatting = map[string]bool{
	"a": true, "b": true, "big": true, "code": true, "em": true, "font": true, "i": true, "nobr": true,
	"s": true, "small": true, "strike": true, "strong": true, "tt": true, "u": true,
}

// maxOpen bounds the open formatting elements.
const maxOpen = 512

// open is an open formatting element.
type open struct{ name, tag string }

// HTML estimates the nodes, or equal work, that html.Parse needs for a page: reopened
// formatting elements, merged attributes of body elements, and text that is split by
// unknown tags. It stops counting above most.
func HTML(text []byte, most int) int {
	var (
		z      = html.NewTokenizer(bytes.NewReader(text))
		opened []open
		cost   int
		run    int // bytes of text since the last element
		merged int // bytes of body and html tags
	)
	for cost <= most {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return cost
		case html.TextToken:
			cost += run / 256
			run += len(z.Raw())
			cost += 1 + len(opened)
			continue
		}
		cost += 1 + len(opened)
		tag := string(z.Raw())
		b, _ := z.TagName()
		name := string(b)
		if kind == html.EndTagToken && formatting[name] || name == "a" {
			for i, o := range slices.Backward(opened) {
				if o.name == name {
					opened = slices.Delete(opened, i, i+1)
					break
				}
			}
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		if name == "noscript" {
			z.NextIsNotRawText() // its content is elements where scripting is off
		}
		run = 0
		if name == "body" || name == "html" {
			merged += len(tag)
			cost += merged / 16
		}
		if !formatting[name] {
			continue
		}
		same := 0
		for _, o := range opened {
			if o.tag == tag {
				same++
			}
		}
		if same < 3 { // the standard keeps three equal ones
			opened = append(opened, open{name, tag})
		}
		if len(opened) > maxOpen {
			return most + 1
		}
		cost += len(opened) // for the search
	}
	return cost
}
