package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/config"
)

// sequence is the order in which the daemon starts its managers (docs/spec/DECISIONS.md 8.1).
var sequence = []string{"AdminInterfaceServer", "SitesManager", "BatchTasksManager", "BatchTasksManagerProcess", "BatchTasksManagerRealTime", "ClientInterfaceService"}

// installation is the contents of the ini file.
type installation struct {
	server      client.Server // the admin port
	clients     client.Server // the client port, for top
	start, stop []string      // managers in the order of start and of stop
}

// load reads the ini file. An error that is not config.ErrNoFile means a wrong one.
func load(path string) (installation, error) {
	f, err := config.Open("dc-admin", path)
	if err != nil {
		return installation{}, err
	}
	dtma := f.Section("dtma")
	i := installation{
		server:  client.ReadServer(dtma, 5503, client.Timeout(dtma)).OperatorKeys(dtma),
		clients: client.ReadServer(f.Section("dcc"), 5504, 2*time.Second),
	}
	managers := f.Section("Server")
	i.start = managers.Names("instantiateSequence", sequence)
	reversed := slices.Clone(i.start)
	slices.Reverse(reversed)
	i.stop = managers.Names("shutdownSequence", reversed)
	if err := f.Err(); err != nil {
		return i, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return i, nil
}
