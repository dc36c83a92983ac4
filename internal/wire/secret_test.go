package wire

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
		if IsSecretProperty(name) != secret {
			t.Errorf("%s: secret %v", name, !secret)
		}
	}
	if ShownProperty("HTTP_COOKIE", "a=b") != HiddenValue || ShownProperty("HTTP_COOKIE", "") != `""` || ShownProperty("ROBOTS_MODE", "0") != `"0"` {
		t.Error("shown values")
	}
}
