package client

import (
	"hce/dc/internal/config"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/curvekeys"
)

// readKeys reads serverPublicKey and clientSecretKey, two files, from the section of
// a program; nil when it has neither. What is wrong is gathered in the file's Err.
func readKeys(s *config.Section) *bus.Curve {
	server, own := s.Path("serverPublicKey", ""), s.Path("clientSecretKey", "")
	switch {
	case server == "" && own == "":
		return nil
	case server == "":
		s.Fail("clientSecretKey", "is of use only with serverPublicKey, the .pub file of the daemon")
		return nil
	case own == "":
		s.Fail("serverPublicKey", "is of use only with clientSecretKey, the own .key file; dc-admin keygen makes one")
		return nil
	}
	public, err := curvekeys.ReadPublic(server)
	if err != nil {
		s.Fail("serverPublicKey", "does not serve: "+err.Error())
	}
	pair, err := curvekeys.ReadSecret(own)
	if err != nil {
		s.Fail("clientSecretKey", "does not serve: "+err.Error())
	}
	return &bus.Curve{Public: pair.Public, Secret: pair.Secret, ServerPublic: public}
}
