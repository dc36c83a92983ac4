package config

import (
	"log/slog"
	"regexp"
	"strings"

	"hce/dc/internal/files"
)

// Texts with a password before an "@": URLs, and database addresses such as
// user:password@tcp(host:port)/. Public keys with these characters must not match.
var (
	urlPassword = regexp.MustCompile(`(://[^/\s:@]*):[^/\s@]+@`)
	urlToken    = regexp.MustCompile(`((?:nats|tls|wss?)://)[^/\s:@]+@`)
	dsnPassword = regexp.MustCompile(`([\w.-]+):\S+@(tcp|unix)?\(`)
)

// redactPasswords replaces the passwords of addresses in a text for a log.
func redactPasswords(text string) string {
	if !strings.Contains(text, "@") || !strings.Contains(text, ":") {
		return text
	}
	text = urlPassword.ReplaceAllString(text, "$1:xxxxx@")
	text = urlToken.ReplaceAllString(text, "${1}xxxxx@")
	return dsnPassword.ReplaceAllString(text, "$1:xxxxx@$2(")
}

// withoutPasswords redacts texts and errors. It is the ReplaceAttr of our logs.
func withoutPasswords(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		if text := a.Value.String(); redactPasswords(text) != text {
			a.Value = slog.StringValue(redactPasswords(text))
		}
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok {
			if text := redactPasswords(files.ExplainFull(err, "").Error()); text != err.Error() {
				a.Value = slog.StringValue(text)
			}
		}
	}
	return a
}
