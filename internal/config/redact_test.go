package config

import (
	"errors"
	"strings"
	"testing"
)

func TestNoPasswordIsLogged(t *testing.T) {
	for text, want := range map[string]string{
		"http://user:hush@example.org/a?b=c@d":               "http://user:xxxxx@example.org/a?b=c@d",
		"get http://u:hush@h:80/ and socks5://v:hush@p:1080": "get http://u:xxxxx@h:80/ and socks5://v:xxxxx@p:1080",
		"hce:hush@tcp(127.0.0.1:3306)/dc?tls=true":           "hce:xxxxx@tcp(127.0.0.1:3306)/dc?tls=true",
		"http://:hush@h/":                          "http://:xxxxx@h/",
		"http://user@h/":                           "http://user@h/",
		"http://h:80/@user":                        "http://h:80/@user",
		"mail to a@b.example: no":                  "mail to a@b.example: no",
		"12:30 at a@b":                             "12:30 at a@b",
		"http://h/path:x@y":                        "http://h/path:x@y",
		"hce:hu/sh@@tcp(h:3306)/":                  "hce:xxxxx@tcp(h:3306)/",
		"u:hush@unix(/run/s)/":                     "u:xxxxx@unix(/run/s)/",
		"QDYeaR}vVn8/EQX8Oa:!KiDz$X:Q%P6{p<ua@$bv": "QDYeaR}vVn8/EQX8Oa:!KiDz$X:Q%P6{p<ua@$bv",
		"nats://hush@h:4222,nats://h:4222":         "nats://xxxxx@h:4222,nats://h:4222",
		"plain":                                    "plain",
	} {
		if got := redactPasswords(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, format := range []string{"text", "json"} {
		var b strings.Builder
		log, _, _, err := Log{Format: format}.Open(&b)
		if err != nil {
			t.Fatal(err)
		}
		log.With("url", "http://u:hush@h/").Info("of http://u:hush@h/", "error", errors.New("proxy http://u:hush@p:1 failed"), "n", 1)
		if got := b.String(); strings.Contains(got, "hush") || strings.Count(got, "xxxxx") != 3 {
			t.Errorf("log %s", got)
		}
	}
}
