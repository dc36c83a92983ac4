package config

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
)

// Application is what the section [Application] of every ini file says.
type Application struct {
	Name    string // instance name
	DataDir string // folder of all data
	Log     Log
}

// Log is where and what a program logs.
type Log struct {
	File   string // "" or stderr: standard error
	Level  slog.Level
	Format string // text or json
}

var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warning": slog.LevelWarn, "error": slog.LevelError}

// Application reads the section; logFile is the default of log, relative to the
// data folder.
func (f *File) Application(program, logFile string) Application {
	s := f.Section("Application")
	a := Application{Name: s.Text("name", program), DataDir: s.Path("data_dir", "../data")}
	a.Log.File = s.Text("log", logFile)
	if a.Log.File == "stderr" {
		a.Log.File = ""
	}
	if a.Log.File != "" && !filepath.IsAbs(a.Log.File) {
		a.Log.File = filepath.Join(a.DataDir, a.Log.File)
	}
	a.Log.Level = levels[s.Choice("log_level", "info", "debug", "info", "warning", "error")]
	a.Log.Format = s.Choice("log_format", "text", "text", "json")
	return a
}

// Open opens the log. A file that cannot be written is an error. The level can
// be changed later; close ends a file.
func (l Log) Open(stderr io.Writer) (log *slog.Logger, level *slog.LevelVar, closeLog func(), err error) {
	out, closeLog := stderr, func() {}
	if l.File != "" {
		if err := os.MkdirAll(filepath.Dir(l.File), 0o755); err != nil {
			return nil, nil, nil, fmt.Errorf("log: %w", err)
		}
		file, err := os.OpenFile(l.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("log: %w", err)
		}
		out, closeLog = file, func() { file.Close() }
	}
	level = new(slog.LevelVar)
	level.Set(l.Level)
	options := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options)), level, closeLog, nil
	}
	return slog.New(slog.NewTextHandler(out, options)), level, closeLog, nil
}
