package daemonprogram

import (
	"fmt"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/curvekeys"
)

// readRemote reads serverHost, serverSecretKey and allowedClients of a port. It returns the keys, or
// nil without keys. It refuses an address that other machines can reach without keys, unless
// insecure is true (docs/spec/DECISIONS.md 8.2).
func readRemote(s *config.Section, insecure bool) *bus.Curve {
	host := s.Text("serverHost", "127.0.0.1")
	local, err := bus.Local(host)
	if err != nil {
		s.Fail("serverHost", "does not serve: "+err.Error())
	}
	secret, allowed := s.Path("serverSecretKey", ""), s.Path("allowedClients", "")
	switch {
	case secret != "" && allowed != "":
		return readKeys(s, secret, allowed)
	case secret != "":
		s.Fail("serverSecretKey", "needs allowedClients, the file or folder of the allowed public keys")
	case allowed != "":
		s.Fail("allowedClients", "needs serverSecretKey, the .key file of the daemon; create one with dc-admin keygen")
	case err == nil && !local && !insecure:
		s.Fail("serverHost", fmt.Sprintf("= %q lets other machines in: create keys with dc-admin keygen and set serverSecretKey and allowedClients, or set AllowInsecureRemoteAccess = 1 if everyone who reaches the port may control the daemon; 127.0.0.1 needs neither", host))
	}
	return nil
}

func readKeys(s *config.Section, secret, allowed string) *bus.Curve {
	pair, err := curvekeys.ReadSecret(secret)
	if err != nil {
		s.Fail("serverSecretKey", "does not serve: "+err.Error())
	}
	list, err := curvekeys.OpenList(allowed)
	if err != nil {
		s.Fail("allowedClients", "does not serve: "+err.Error())
	}
	return &bus.Curve{Secret: pair.Secret, Allowed: list}
}
