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

// keyNames are the names by their first letter.
var keyNames = [26][]keyName{
	'a' - 'a': {{"alt", KeyAlt}, {"alttext", KeyAlttext}, {"aria-hidden", KeyAriaHidden}, {"aria-controls", KeyAriaControls}},
	'c' - 'a': {{"class", KeyClass}, {"content", KeyContent}, {"colspan", KeyColspan}},
	'd' - 'a': {{"datetime", KeyDatetime}, {"data-src", KeyDataSrc}, {"data-language", KeyDataLanguage}, {"data-lang", KeyDataLanguage}, {"display", KeyDisplay}},
	'e' - 'a': {{"encoding", KeyEncoding}},
	'h' - 'a': {{"href", KeyHref}, {"hidden", KeyHidden}, {"http-equiv", KeyHTTPEquiv}},
	'i' - 'a': {{"id", KeyID}, {"itemprop", KeyItemprop}, {"itemtype", KeyItemtype}},
	'l' - 'a': {{"lang", KeyLang}},
	'n' - 'a': {{"name", KeyName}},
	'p' - 'a': {{"property", KeyProperty}, {"pubdate", KeyPubdate}, {"poster", KeyPoster}},
	'r' - 'a': {{"rel", KeyRel}, {"role", KeyRole}, {"rowspan", KeyRowspan}},
	's' - 'a': {{"src", KeySrc}, {"style", KeyStyle}, {"start", KeyStart}},
	't' - 'a': {{"title", KeyTitle}, {"type", KeyType}},
	'x' - 'a': {{"xml:lang", KeyLang}},
}

// lookupKey finds an attribute by its name.
func lookupKey(n []byte) Key {
	if len(n) < 2 || len(n) > 13 || !isLetter(n[0]) {
		return keyNone
	}
	names := keyNames[n[0]|0x20-'a']
	for i := range names {
		if k := &names[i]; len(k.name) == len(n) && equalFold(n, k.name) {
			return k.key
		}
	}
	return keyNone
}
