// Package secret hides what must not be seen in messages, logs and lists: values of properties and header fields with
// passwords, sessions or keys.
//
//	log.Warn("invalid property", "value", secret.ShowProperty(name, value))
package secret

import (
	"slices"
	"strconv"
	"strings"
)

// properties are the properties of a site whose values may hold passwords, sessions or keys.
// docs/properties.md lists them.
var properties = []string{
	"EXTERNAL_URL", "HTTP_AUTH_PWD", "HTTP_COOKIE", "HTTP_HEADERS", "HTTP_PROXY_HOST", "URL_TEMPLATE_REALTIME", "URL_TEMPLATE_REGULAR", "USER_PROXY",
}

// formPrefix begins the names of the fields of a form, one of which is often a password.
const formPrefix = "HTTP_POST_FORM_"

// Hidden is shown in place of the value of a secret property.
const Hidden = "(hidden)"

// IsProperty reports whether the value of a property belongs into requests only: no message, log or
// list shows it.
func IsProperty(name string) bool {
	return slices.Contains(properties, name) || strings.HasPrefix(name, formPrefix)
}

// ShowProperty returns the value of a property as messages show it: quoted, or Hidden.
func ShowProperty(name, value string) string {
	if value != "" && IsProperty(name) {
		return Hidden
	}
	return strconv.Quote(value)
}

// publicFields are the fields of a request that show nothing but how pages are asked for, in lower case. Those
// that begin with "sec-" are, too.
var publicFields = []string{
	"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection", "content-length", "content-type", "date", "dnt",
	"expect", "from", "host", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "max-forwards",
	"origin", "pragma", "priority", "proxy-connection", "range", "referer", "save-data", "te", "trailer", "transfer-encoding", "upgrade",
	"upgrade-insecure-requests", "user-agent", "via", "warning",
}

// IsPublicField reports whether files and messages may show a field of a request. Authorization, cookies and any
// field that a site adds, such as X-Api-Key, may open what its pages do not show.
func IsPublicField(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(publicFields, name) || strings.HasPrefix(name, "sec-")
}
