package secret

import "testing"

func TestSecrets(t *testing.T) {
	for name, public := range map[string]bool{
		"Host": true, "USER-AGENT": true, "Sec-Fetch-Mode": true, "If-None-Match": true, "Accept-Language": true,
		"Authorization": false, "proxy-authorization": false, "Cookie": false, "X-Api-Key": false, "X-Anything": false, "": false,
	} {
		if IsPublicField(name) != public {
			t.Errorf("%s: public %v", name, !public)
		}
	}
	for name, secret := range map[string]bool{"HTTP_AUTH_PWD": true, "HTTP_COOKIE": true, "HTTP_HEADERS": true, "USER_PROXY": true, "HTTP_POST_FORM_pass": true, "ROBOTS_MODE": false} {
		if IsProperty(name) != secret {
			t.Errorf("%s: secret %v", name, !secret)
		}
	}
	if ShowProperty("HTTP_COOKIE", "a=b") != Hidden || ShowProperty("HTTP_COOKIE", "") != `""` || ShowProperty("ROBOTS_MODE", "0") != `"0"` {
		t.Error("shown values")
	}
}

func TestShownTexts(t *testing.T) {
	for _, c := range [][2]string{
		{ShowReason("HTTP_COOKIE", "a=hush", `has "a=hush"; expected a cookie`), "has (hidden); expected a cookie"},
		{ShowReason("USER_PROXY", `{"p":"hush"`, `has {"p":"hush"; expected "}"`), `has {(hidden):(hidden); expected "}"`},
		{ShowReason("HTTP_PROXY_HOST", "u:hush@h:1x", `parse "u:hush@h:1x...": invalid port "1x"; expected "host:port"`), `parse (hidden): invalid port (hidden); expected "host:port"`},
		{ShowReason("ROBOTS_MODE", "x", `is "x", not a number`), `is "x", not a number`},
		{ShowAnswerField("Set-Cookie", "sid=hush; Path=/; Secure"), "sid=(hidden); Path=/; Secure"},
		{ShowAnswerField("set-cookie", "hush"), "(hidden)"},
		{ShowAnswerField("X-Auth-Token", "hush"), "(hidden)"},
		{ShowAnswerField("ETag", "x"), "x"},
		{ShowAnswerHead("HTTP/1.1 200 OK\r\nSet-Cookie: a=hush\r\nETag: x\r\n"), "HTTP/1.1 200 OK\r\nSet-Cookie: a=(hidden)\r\nETag: x\r\n"},
		{string(ShowRequest([]byte(`[{"properties":{"HTTP_COOKIE":"hush","A":"b","USER_PROXY":{"p":"hush"}},"n":12345678901234567890}]`))), `[{"n":12345678901234567890,"properties":{"A":"b","HTTP_COOKIE":"(hidden)","USER_PROXY":"(hidden)"}}]`},
		{string(ShowRequest([]byte(`{"properties":[{"name":"HTTP_AUTH_PWD","value":"hush"},{"name":"A","value":"b"}]}`))), `{"properties":[{"name":"HTTP_AUTH_PWD","value":"(hidden)"},{"name":"A","value":"b"}]}`},
		{string(ShowRequest([]byte(`{"HTTP_COOKIE":"hush`))), "(hidden)"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s, want %s", c[0], c[1])
		}
	}
}
