package curvekeys

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// OperatorsFolder is the folder of the keys of the operators' port, in the data folder of a
// daemon:
//
//	keys/daemon.key, keys/daemon.pub                   of the daemon
//	keys/operators/admin.key, keys/operators/admin.pub of dc-admin
//	keys/operators/*.pub                               may connect
const OperatorsFolder = "keys"

// EndpointFile is the file in OperatorsFolder with host:port of a daemon whose port the system
// has chosen.
const EndpointFile = "endpoint"

const operators = "operators"

// EnsureOperators returns the daemon's pair and the list of operators in folder. It creates what
// is missing: folders with mode 0700, secret keys with mode 0600. created reports a new key.
func EnsureOperators(folder string) (server Pair, list *List, created bool, err error) {
	server, created, err = Ensure(folder, "daemon")
	if err != nil {
		return Pair{}, nil, false, fmt.Errorf("keys of the operators' port: %w", err)
	}
	allowed := filepath.Join(folder, operators)
	_, also, err := Ensure(allowed, "admin")
	if err == nil {
		list, err = OpenList(allowed)
	}
	if err != nil {
		return Pair{}, nil, false, fmt.Errorf("keys of the operators' port: %w", err)
	}
	return server, list, created || also, nil
}

// ReadOperator reads the public key of the daemon and the secret pair of dc-admin from folder. An
// error that wraps fs.ErrNotExist means that the daemon has created no keys there.
func ReadOperator(folder string) (server string, own Pair, err error) {
	server, err = ReadPublic(filepath.Join(folder, "daemon.pub"))
	if err == nil {
		own, err = ReadSecret(filepath.Join(folder, operators, "admin.key"))
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; run dc-admin as the user of dc-daemon or as root, or with a key of your own (serverPublicKey, clientSecretKey)", err)
	}
	return server, own, err
}
