package client

import (
	"errors"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/config"
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
		Admin:   ReadServer(dtma, 5503, Timeout(dtma)).OperatorKeys(dtma),
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
