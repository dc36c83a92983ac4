package client

import (
	"context"
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
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/curvekeys"
)

// Managers are the classes of the managers of one machine in the order of their start
// (docs/spec/DECISIONS.md 8.1).
var Managers = []string{"AdminInterfaceServer", "SitesManager", "BatchTasksManager", "BatchTasksManagerProcess", "BatchTasksManagerRealTime", "ClientInterfaceService"}

// Installation is the contents of dc-admin.ini.
type Installation struct {
	Admin   Server // the admin port, with the keys of the operator
	Clients Server // the client port
	// NoFile: there is no ini file, and the daemon is that of this machine with its usual ports.
	NoFile bool
	// Start and Stop are the managers in the order of start and of stop, if the file names them; nil:
	// those that the daemon has, see Managers.
	Start, Stop []string
}

// ReadInstallation reads the ini file of dc-admin, "" for that of this machine, which may be missing.
func ReadInstallation(path string) (Installation, error) {
	f, found, err := config.OpenOr("dc-admin", path, "ini")
	if err != nil {
		return Installation{}, err
	}
	dtma := f.Section("dtma")
	i := Installation{
		Admin:   readServer(dtma, adminPort, 0, Timeout(dtma)).OperatorKeys(dtma).chosenPort(dtma),
		Clients: ReadServer(f.Section("dcc"), DefaultPort, 2*time.Second),
		NoFile:  !found,
	}
	i.Admin.builtIn = i.NoFile
	managers := f.Section("Server")
	i.Start = managers.Names("instantiateSequence", nil)
	i.Stop = managers.Names("shutdownSequence", reverseCopy(i.Start))
	if err := f.Err(); err != nil {
		return i, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return i, nil
}

// Managers returns the managers in the order of their start and of their stop: those of the file, or
// those that the daemon has. Without an answer they are those of one machine.
func (i Installation) Managers(ctx context.Context) (start, stop []string) {
	start, stop = i.Start, i.Stop
	if start == nil {
		start = Managers
		if b, err := bus.New(); err == nil {
			defer b.Term(0)
			if stats, err := i.Admin.Stats(ctx, b, Managers[:1], []string{managersStat}); err == nil {
				if list := ManagersIn(stats); list != nil {
					start = list
				}
			}
		}
	}
	if stop == nil {
		stop = reverseCopy(start)
	}
	return start, stop
}

// managersStat is the statistic of AdminInterfaceServer with the managers in the order of their start.
const managersStat = "managers"

// ManagersIn returns the managers of the daemon in the order of their start, if the statistics have
// them, else nil.
func ManagersIn(stats []Stat) (list []string) {
	for _, s := range stats {
		if s.Class != Managers[0] {
			continue
		}
		names, _ := s.Fields[managersStat].([]any)
		for _, name := range names {
			list = append(list, fmt.Sprint(name))
		}
	}
	return list
}

func reverseCopy(list []string) []string {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
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
