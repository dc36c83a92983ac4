package config

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
)

// Application is the section [Application] of every ini file.
type Application struct {
	Name    string // instance name
	DataDir string // folder of all data
	Log     Log
}

// Log holds the settings of the log.
type Log struct {
	File   string // "": standard error
	Level  slog.Level
	Format string // text, json, or one that the program offers
	// Handler writes records in a format of the program; nil for text and json.
	Handler func(out io.Writer, o *slog.HandlerOptions) slog.Handler
}

var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warning": slog.LevelWarn, "error": slog.LevelError}

// Application reads the section. logFile is the default of log, relative to the data
// folder. formats are those that the program offers in addition to text and json.
func (f *File) Application(program, logFile string, formats ...string) Application {
	s := f.Section("Application")
	a := Application{Name: s.Text("name", program), DataDir: s.Path("data_dir", "../data")}
	a.Log.File = s.Text("log", logFile)
	if strings.HasSuffix(a.Log.File, ".ini") {
		s.warnAbout("log", fmt.Sprintf("= %s names a logging configuration of the original service, which is not read or written; the log goes to %s. Set a log file or stderr", a.Log.File, logFile))
		a.Log.File = logFile
	}
	if a.Log.File == "stderr" {
		a.Log.File = ""
	}
	if a.Log.File != "" && !filepath.IsAbs(a.Log.File) {
		a.Log.File = filepath.Join(a.DataDir, a.Log.File)
	}
	a.Log.Level = levels[s.Choice("log_level", "info", "debug", "info", "warning", "error")]
	a.Log.Format = s.Choice("log_format", "text", append([]string{"text", "json"}, formats...)...)
	return a
}

// Open opens the log. The caller may change level at any time and must close out.
func (l Log) Open(stderr io.Writer) (log *slog.Logger, level *slog.LevelVar, out *Output, err error) {
	out = &Output{stream: stderr}
	if l.File != "" {
		if out, err = openOutput(l.File); err != nil {
			return nil, nil, nil, err
		}
	}
	level = new(slog.LevelVar)
	level.Set(l.Level)
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withoutPasswords}
	if l.Handler != nil {
		return slog.New(l.Handler(out, options)), level, out, nil
	}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options)), level, out, nil
	}
	return slog.New(slog.NewTextHandler(out, options)), level, out, nil
}
