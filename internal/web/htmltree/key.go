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

// keyName is how a page writes a key.
type keyName struct {
	name string
	key  Key
}

// keyNames are the names by their first letter, in any case.
var keyNames = [32][]keyName{
	'a' & 31: {{"alt", KeyAlt}, {"alttext", KeyAlttext}, {"aria-hidden", KeyAriaHidden}, {"aria-controls", KeyAriaControls}},
	'c' & 31: {{"class", KeyClass}, {"content", KeyContent}, {"colspan", KeyColspan}},
	'd' & 31: {{"datetime", KeyDatetime}, {"data-src", KeyDataSrc}, {"data-language", KeyDataLanguage}, {"data-lang", KeyDataLanguage}, {"display", KeyDisplay}},
	'e' & 31: {{"encoding", KeyEncoding}},
	'h' & 31: {{"href", KeyHref}, {"hidden", KeyHidden}, {"http-equiv", KeyHTTPEquiv}},
	'i' & 31: {{"id", KeyID}, {"itemprop", KeyItemprop}, {"itemtype", KeyItemtype}},
	'l' & 31: {{"lang", KeyLang}},
	'n' & 31: {{"name", KeyName}},
	'p' & 31: {{"property", KeyProperty}, {"pubdate", KeyPubdate}, {"poster", KeyPoster}},
	'r' & 31: {{"rel", KeyRel}, {"role", KeyRole}, {"rowspan", KeyRowspan}},
	's' & 31: {{"src", KeySrc}, {"style", KeyStyle}, {"start", KeyStart}},
	't' & 31: {{"title", KeyTitle}, {"type", KeyType}},
	'x' & 31: {{"xml:lang", KeyLang}},
}

// lookupKey finds an attribute by its name.
func lookupKey(n []byte) Key {
	if len(n) < 2 || len(n) > 13 || !isLetter(n[0]) {
		return keyNone
	}
	names := keyNames[n[0]&31]
	for i := range names {
		if k := &names[i]; len(k.name) == len(n) && equalFold(n, k.name) {
			return k.key
		}
	}
	return keyNone
}
