package htmltree

import (
	"bytes"
)

// readDoctype reads what stands behind <!doctype.
func (p *parser) readDoctype(s []byte, closed bool) {
	if p.mode != mInitial {
		return
	}
	p.mode = mBeforeHTML
	p.quirks = !closed || isQuirky(s)
}

// isQuirky reports whether a doctype, without <!doctype, is one of old pages.
func isQuirky(s []byte) bool {
	s = bytes.TrimLeft(s, " \t\n\f")
	i := 0
	for i < len(s) && !IsSpace(s[i]) {
		i++
	}
	if !equalName(s[:i], "html") {
		return true
	}
	s = bytes.TrimLeft(s[i:], " \t\n\f")
	if len(s) == 0 {
		return false
	}
	quoted := func() (v []byte, ok bool) {
		s = bytes.TrimLeft(s, " \t\n\f")
		if len(s) == 0 || s[0] != '"' && s[0] != '\'' {
			return nil, false
		}
		j := bytes.IndexByte(s[1:], s[0])
		if j < 0 {
			return nil, false
		}
		v, s = s[1:1+j], s[2+j:]
		return v, true
	}
	var public, system []byte
	hasSystem := false
	switch {
	case len(s) >= 6 && equalFold(s[:6], "public"):
		s = s[6:]
		var ok bool
		if public, ok = quoted(); !ok {
			return true
		}
		rest := len(bytes.TrimLeft(s, " \t\n\f"))
		if system, hasSystem = quoted(); !hasSystem && rest > 0 {
			return true
		}
	case len(s) >= 6 && equalFold(s[:6], "system"):
		s = s[6:]
		if system, hasSystem = quoted(); !hasSystem {
			return true
		}
	default:
		return true
	}
	p := bytes.ToLower(public)
	if bytes.EqualFold(system, []byte("http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd")) {
		return true
	}
	switch string(p) {
	case "-//w3o//dtd w3 html strict 3.0//en//", "-/w3c/dtd html 4.0 transitional/en", "html":
		return true
	}
	if !hasSystem && (HasPrefix(p, "-//w3c//dtd html 4.01 frameset//") || HasPrefix(p, "-//w3c//dtd html 4.01 transitional//")) {
		return true
	}
	for _, x := range quirkyIDs {
		if HasPrefix(p, x) {
			return true
		}
	}
	return false
}

var quirkyIDs = []string{"+//silmaril//dtd html pro v0r11 19970101//", "-//as//dtd html 3.0 aswedit + extensions//", "-//advasoft ltd//dtd html 3.0 aswedit + extensions//",
	"-//ietf//dtd html", "-//metrius//dtd metrius presentational//", "-//microsoft//dtd internet explorer", "-//netscape comm. corp.//dtd", "-//o'reilly and associates//dtd html",
	"-//sq//dtd html 2.0 hotmetal + extensions//", "-//softquad software//dtd hotmetal pro 6.0::19990601::extensions to html 4.0//",
	"-//softquad//dtd hotmetal pro 4.0::19971010::extensions to html 4.0//", "-//spyglass//dtd html 2.0 extended//", "-//sun microsystems corp.//dtd hotjava",
	"-//w3c//dtd html 3 1995-03-24//", "-//w3c//dtd html 3.2", "-//w3c//dtd html 4.0 frameset//", "-//w3c//dtd html 4.0 transitional//",
	"-//w3c//dtd html experimental", "-//w3c//dtd w3 html//", "-//w3o//dtd w3 html 3.0//", "-//webtechs//dtd mozilla html"}
