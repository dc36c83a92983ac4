// Package redirectlink sets the tags that tell where a page came from (HTTP_REDIRECT_LINK,
// docs/spec/processing.md 1.5).
//
//	mode, err := redirectlink.Parse("4")
//	mode.Apply(&r, row.URL, location) // location is the header Location of the stored headers
package redirectlink

import (
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/wire/result"
)

// Mode is a value of HTTP_REDIRECT_LINK.
type Mode int

// Modes.
const (
	Off          Mode = iota // the tags are not changed
	PageLink                 // link is the URL of the page
	LocationLink             // link is the header Location
	Location                 // redirect_url is the header Location
	Address                  // redirect_url is the header Location, or else the URL of the page
)

// Parse reads HTTP_REDIRECT_LINK. "" and 0 are Off.
func Parse(text string) (Mode, error) {
	if text = strings.TrimSpace(text); text == "" {
		return Off, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < int(Off) || n > int(Address) {
		return Off, fmt.Errorf("has %.80q; expected 1 to 4", text)
	}
	return Mode(n), nil
}

// Apply sets the tag of the mode. Without a location, LocationLink and Location set none.
func (m Mode) Apply(r *result.Result, pageURL, location string) {
	name, value := "redirect_url", strings.TrimSpace(location)
	switch {
	case m == Off:
		return
	case m == PageLink:
		name, value = "link", pageURL
	case m == LocationLink:
		name = "link"
	case m == Address && value == "":
		value = pageURL
	}
	r.Add(result.Tag{Name: name, Data: []string{value}, Extractor: result.Service})
}
