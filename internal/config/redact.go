package config

import (
	"log/slog"
	"regexp"
	"strings"
)

// Texts that hold a password before an "@": URLs, and addresses of databases as
// user:password@tcp(host:port)/. Public keys may have both signs as well, and stay.
var (
	urlPassword = regexp.MustCompile(`(://[^/\s:@]*):[^/\s@]+@`)
	dsnPassword = regexp.MustCompile(`([\w.-]+):\S+@(tcp|unix)?\(`)
)

// redacted is a text for a log, without the passwords of addresses in it.
func redacted(text string) string {
	if !strings.Contains(text, "@") || !strings.Contains(text, ":") {
		return text
	}
	text = urlPassword.ReplaceAllString(text, "$1:xxxxx@")
	return dsnPassword.ReplaceAllString(text, "$1:xxxxx@$2(")
}

// withoutPasswords is slog's ReplaceAttr of our logs.
func withoutPasswords(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		if text := a.Value.String(); redacted(text) != text {
			a.Value = slog.StringValue(redacted(text))
		}
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok && redacted(err.Error()) != err.Error() {
			a.Value = slog.StringValue(redacted(err.Error()))
		}
	}
	return a
}
