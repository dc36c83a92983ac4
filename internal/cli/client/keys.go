package client

import (
	"errors"
	"io/fs"
	"path/filepath"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/curvekeys"
)

// OperatorKeys adds the keys of dc-admin on the daemon's machine to s, if section names none: those
// in the folder keys, which the daemon creates at its first start. It adds none if the folder has
// none. Errors are collected in the Err of the file.
func (s Server) OperatorKeys(section *config.Section) Server {
	s.keysFolder = section.Path("keys", filepath.Join("..", "data", curvekeys.OperatorsFolder))
	if s.Curve != nil {
		return s
	}
	public, pair, err := curvekeys.ReadOperator(s.keysFolder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		section.Fail("keys", "is not usable: "+err.Error())
	default:
		s.Curve = &bus.Curve{Public: pair.Public, Secret: pair.Secret, ServerPublic: public}
	}
	return s
}

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
