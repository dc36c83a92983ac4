package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for systems without names of time zones

	"hce/dc/internal/cli/command"
	"hce/dc/internal/storage/legacyimport"
	"hce/dc/internal/storage/sqldb"
)

// passwordVariable names the environment variable with the password. All users of a
// machine see command lines.
const passwordVariable = "DC_IMPORT_PASSWORD"

// options are the values of the options that follow --import-from.
type options struct {
	names, zone, keyFiles string
	log                   bool
}

func (o *options) declareOptions(c *command.Command) {
	c.Text(&o.names, "import-databases", "", "LIST", "names of databases that differ from the default, for example dc_sites=old_sites,dc_urls=old_urls; defaults: dc_sites, dc_urls, dc_urls_deleted, dc_contents, dc_attributes, dc_stat_freqs, dc_stat_logs")
	c.Text(&o.zone, "import-zone", "", "ZONE", "time zone of that server, for example Europe/Berlin or +03:00; default UTC")
	c.Text(&o.keyFiles, "import-key-files", "", "DIR", "also import processed contents from a copy of its key-value files (<site>.db)")
	c.Flag(&o.log, "import-log", "", "also import the journals of URLs")
}

// parseOptions checks the options. from is the value of --import-from.
func (o *options) parseOptions(from string) (legacyimport.Options, error) {
	parsed := legacyimport.Options{Log: o.log, KeyFiles: o.keyFiles, Names: map[string]string{}}
	var err error
	if parsed.Server, err = parseServer(from); err != nil {
		return parsed, err
	}
	parsed.Server.Password = os.Getenv(passwordVariable)
	if parsed.Zone, err = parseZone(o.zone); err != nil {
		return parsed, err
	}
	known := append([]string{sqldb.Sites}, sqldb.SiteDatabases...)
	for _, pair := range strings.Split(o.names, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		database, name, _ := strings.Cut(pair, "=")
		if !slices.Contains(known, database) || name == "" {
			return parsed, fmt.Errorf("option --import-databases: %q is not DATABASE=NAME with DATABASE one of %s", pair, strings.Join(known, ", "))
		}
		parsed.Names[database] = name
	}
	return parsed, nil
}

// parseServer reads USER@HOST, USER@HOST:PORT or USER@/SOCKET.
func parseServer(from string) (sqldb.Server, error) {
	user, address, found := strings.Cut(from, "@")
	if !found || user == "" || address == "" {
		return sqldb.Server{}, fmt.Errorf("option --import-from = %q is not USER@HOST, USER@HOST:PORT or USER@/SOCKET", from)
	}
	if strings.Contains(user, ":") {
		return sqldb.Server{}, fmt.Errorf("option --import-from contains a password; set the environment variable %s instead", passwordVariable)
	}
	s := sqldb.Server{User: user, Host: address, Port: 3306}
	if filepath.IsAbs(address) {
		s.Host, s.Socket = "", address
		return s, nil
	}
	if host, port, err := net.SplitHostPort(address); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return s, fmt.Errorf("option --import-from: %q is not a port", port)
		}
		s.Host, s.Port = host, n
	}
	return s, nil
}

var zonePattern = regexp.MustCompile(`^([+-])(\d\d):(\d\d)$`)

// parseZone reads the name of a time zone, or an offset such as +03:00. Empty is UTC.
func parseZone(text string) (*time.Location, error) {
	if m := zonePattern.FindStringSubmatch(text); m != nil {
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi(m[3])
		seconds := hours*3600 + minutes*60
		if m[1] == "-" {
			seconds = -seconds
		}
		if hours <= 14 && minutes < 60 {
			return time.FixedZone(text, seconds), nil
		}
	}
	zone, err := time.LoadLocation(text)
	if err != nil || strings.EqualFold(text, "local") {
		return nil, fmt.Errorf("option --import-zone = %q is neither a zone like Europe/Berlin nor an offset like +03:00", text)
	}
	return zone, nil
}
