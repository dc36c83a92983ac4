package htmltree

// Key is an attribute name that is kept.
type Key uint8

const (
	keyNone Key = iota
	KeyID
	KeyClass
	KeyHref
	KeySrc
	KeyAlt
	KeyTitle
	KeyRel
	KeyName
	KeyContent
	KeyProperty
	KeyItemprop
	KeyRole
	KeyStyle
	KeyHidden
	KeyLang
	KeyDatetime
	KeyType
	KeyHTTPEquiv
	KeyStart
	KeyColspan
	KeyRowspan
	KeyAriaHidden
	KeyDataSrc
	KeySrcset
	KeyPubdate
	KeyPoster
	KeyLanguage
	KeyItemtype
	KeyReversed
	KeyAlign
	KeyValue
	KeyAlttext
	KeyAriaControls
	KeyEncoding
	KeyDisplay
	KeyDataLanguage // data-language or data-lang
)

// lookupKey finds an attribute by its name.
func lookupKey(n []byte) Key {
	if len(n) < 2 || len(n) > 13 {
		return keyNone
	}
	is := func(s string) bool { return len(s) == len(n) && equalFold(n, s) }
	switch n[0] | 0x20 {
	case 'a':
		if is("alt") {
			return KeyAlt
		}
		if is("alttext") {
			return KeyAlttext
		}
		if is("aria-hidden") {
			return KeyAriaHidden
		}
		if is("aria-controls") {
			return KeyAriaControls
		}
	case 'c':
		if is("class") {
			return KeyClass
		}
		if is("content") {
			return KeyContent
		}
		if is("colspan") {
			return KeyColspan
		}
	case 'd':
		if is("datetime") {
			return KeyDatetime
		}
		if is("data-src") {
			return KeyDataSrc
		}
		if is("data-language") || is("data-lang") {
			return KeyDataLanguage
		}
		if is("display") {
			return KeyDisplay
		}
	case 'e':
		if is("encoding") {
			return KeyEncoding
		}
	case 'h':
		if is("href") {
			return KeyHref
		}
		if is("hidden") {
			return KeyHidden
		}
		if is("http-equiv") {
			return KeyHTTPEquiv
		}
	case 'i':
		if is("id") {
			return KeyID
		}
		if is("itemprop") {
			return KeyItemprop
		}
		if is("itemtype") {
			return KeyItemtype
		}
	case 'l':
		if is("lang") {
			return KeyLang
		}
	case 'n':
		if is("name") {
			return KeyName
		}
	case 'p':
		if is("property") {
			return KeyProperty
		}
		if is("pubdate") {
			return KeyPubdate
		}
		if is("poster") {
			return KeyPoster
		}
	case 'r':
		if is("rel") {
			return KeyRel
		}
		if is("role") {
			return KeyRole
		}
		if is("rowspan") {
			return KeyRowspan
		}
	case 's':
		if is("src") {
			return KeySrc
		}
		if is("style") {
			return KeyStyle
		}
		if is("start") {
			return KeyStart
		}
	case 't':
		if is("title") {
			return KeyTitle
		}
		if is("type") {
			return KeyType
		}
	case 'x':
		if is("xml:lang") {
			return KeyLang
		}
	}
	return keyNone
}
