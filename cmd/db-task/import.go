package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // names of zones, where the system has none

	"hce/dc/internal/cli/flags"
	"hce/dc/internal/cli/taskprogram"
	"hce/dc/internal/config"
	"hce/dc/internal/storage"
	"hce/dc/internal/storage/legacyimport"
	"hce/dc/internal/storage/sqldb"
)

// importPassword names the variable with the password: command lines are seen by
// all users of a machine.
const importPassword = "DC_IMPORT_PASSWORD"

// importOptions are the options of --import-from.
type importOptions struct {
	names, zone, keyFiles string
	log                   bool
}

func (o *importOptions) declare(s *flags.Set) {
	s.Text(&o.names, "import-databases", "", "LIST", "names there that differ, as dc_sites=old_sites,dc_urls=old_urls;\nthe others are dc_sites, dc_urls, dc_urls_deleted, dc_contents,\ndc_attributes, dc_stat_freqs, dc_stat_logs")
	s.Text(&o.zone, "import-zone", "", "ZONE", "time zone of that server, as Europe/Berlin or +03:00; UTC when\nit is not given")
	s.Text(&o.keyFiles, "import-key-files", "", "FOLDER", "import processed contents also from a copy of its key-value\nfiles (<site>.db)")
	s.Flag(&o.log, "import-log", "", "import the journals of URLs too")
}

// run is --import-from FROM.
func (o *importOptions) run(ctx context.Context, f *config.File, app config.Application, log *slog.Logger, from string) error {
	cfg := storage.ReadConfig(f, app.DataDir)
	if err := taskprogram.Checked(f, log); err != nil {
		return err
	}
	what, err := o.imports(from)
	if err != nil {
		return err
	}
	return storage.Import(ctx, cfg, what, os.Stdout, os.Stderr, log)
}

func (o *importOptions) imports(from string) (storage.Imports, error) {
	what := storage.Imports{Log: o.log, KeyFiles: o.keyFiles, From: legacyimport.Options{Names: map[string]string{}}}
	var err error
	if what.From.Server, err = readServer(from); err != nil {
		return what, err
	}
	what.From.Server.Password = os.Getenv(importPassword)
	if what.From.Zone, err = readZone(o.zone); err != nil {
		return what, err
	}
	known := append([]string{sqldb.Sites}, sqldb.SiteDatabases...)
	for _, pair := range strings.Split(o.names, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		database, name, _ := strings.Cut(pair, "=")
		if !slices.Contains(known, database) || name == "" {
			return what, fmt.Errorf("option --import-databases: %q is not NAME=NAME with one of %s in front", pair, strings.Join(known, ", "))
		}
		what.From.Names[database] = name
	}
	return what, nil
}

// readServer reads user@host, user@host:port or user@/path/of/socket.
func readServer(from string) (sqldb.Server, error) {
	user, address, found := strings.Cut(from, "@")
	if !found || user == "" || address == "" {
		return sqldb.Server{}, fmt.Errorf("option --import-from = %q is not USER@HOST, USER@HOST:PORT or USER@/SOCKET", from)
	}
	if strings.Contains(user, ":") {
		return sqldb.Server{}, fmt.Errorf("option --import-from has a password; put it into the environment variable %s", importPassword)
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

func readZone(text string) (*time.Location, error) {
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
