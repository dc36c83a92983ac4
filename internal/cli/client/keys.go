package client

import (
	"hce/dc/internal/config"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/curvekeys"
)

// readKeys reads the key files serverPublicKey and clientSecretKey of a section. It returns
// nil if both are empty. Errors are collected in the Err of the file.
func readKeys(s *config.Section) *bus.Curve {
	server, own := s.Path("serverPublicKey", ""), s.Path("clientSecretKey", "")
	switch {
	case server == "" && own == "":
		return nil
	case server == "":
		s.Fail("clientSecretKey", "requires serverPublicKey, the .pub file of the daemon")
		return nil
	case own == "":
		s.Fail("serverPublicKey", "requires clientSecretKey, your own .key file; create one with dc-admin keygen")
		return nil
	}
	public, err := curvekeys.ReadPublic(server)
	if err != nil {
		s.Fail("serverPublicKey", "is not usable: "+err.Error())
	}
	pair, err := curvekeys.ReadSecret(own)
	if err != nil {
		s.Fail("clientSecretKey", "is not usable: "+err.Error())
	}
	return &bus.Curve{Public: pair.Public, Secret: pair.Secret, ServerPublic: public}
}
