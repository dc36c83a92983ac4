package client

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/curvekeys"
)

// Managers are the classes of the managers in the order of their start (docs/spec/DECISIONS.md 8.1).
var Managers = []string{"AdminInterfaceServer", "SitesManager", "BatchTasksManager", "BatchTasksManagerProcess", "BatchTasksManagerRealTime", "ClientInterfaceService"}

// Installation is the contents of dc-admin.ini.
type Installation struct {
	Admin       Server   // the admin port, with the keys of the operator
	Clients     Server   // the client port
	Start, Stop []string // managers in the order of start and of stop
}

// ReadInstallation reads the ini file of dc-admin, "" for that of this machine. An error that is not
// config.ErrNoFile means a wrong file.
func ReadInstallation(path string) (Installation, error) {
	f, err := config.Open("dc-admin", path)
	if err != nil {
		return Installation{}, err
	}
	dtma := f.Section("dtma")
	i := Installation{
		Admin:   readServer(dtma, 5503, 0, Timeout(dtma)).OperatorKeys(dtma).chosenPort(dtma),
		Clients: ReadServer(f.Section("dcc"), 5504, 2*time.Second),
	}
	managers := f.Section("Server")
	i.Start = managers.Names("instantiateSequence", Managers)
	reversed := slices.Clone(i.Start)
	slices.Reverse(reversed)
	i.Stop = managers.Names("shutdownSequence", reversed)
	if err := f.Err(); err != nil {
		return i, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return i, nil
}

// chosenPort sets the address to that which a daemon with a chosen port has written to its folder of
// keys, if clientPort is 0. Errors are collected in the Err of the file.
func (s Server) chosenPort(section *config.Section) Server {
	if s.Port != 0 {
		return s
	}
	path := filepath.Join(s.keysFolder, curvekeys.EndpointFile)
	text, err := os.ReadFile(path)
	if err == nil {
		s.Host, s.Port, err = hostPort(strings.TrimSpace(string(text)))
	}
	if err != nil {
		section.Fail("clientPort", fmt.Sprintf("= 0 needs a running daemon with serverPort = 0, which writes its port there: %v", err))
	}
	return s
}

func hostPort(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	return host, port, err
}
