package main

import (
	"fmt"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/curvekeys"
)

// remote reads what a port says about other machines: serverHost, serverSecretKey
// and allowedClients. It gives the keys, nil for a port without, and refuses an
// address that other machines reach when there are neither keys nor the word that
// it is meant to be open (docs/spec/DECISIONS.md 8.2).
func remote(s *config.Section, insecure bool) *bus.Curve {
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
		s.Fail("serverSecretKey", "is of use only with allowedClients, the file or folder of the public keys that may come")
	case allowed != "":
		s.Fail("allowedClients", "is of use only with serverSecretKey, the .key file of the daemon; dc-admin keygen makes one")
	case err == nil && !local && !insecure:
		s.Fail("serverHost", fmt.Sprintf("= %q lets other machines in: make keys with dc-admin keygen and set serverSecretKey and allowedClients, or say AllowInsecureRemoteAccess = 1 if whoever reaches the port may rule; 127.0.0.1 needs neither", host))
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
