package program

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/internal/apps/archive/crawl"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
)

// options are those of every sub-command.
type options struct {
	config, root string
	json         bool
}

// settings are the values of archive.ini, of the environment and of options.
type settings struct {
	file  *config.File
	root  string // absolute
	log   config.Log
	crawl crawl.Config
	network
}

// readSettings reads the settings. Options win over the environment, that over the file, and that over the
// built-in values, which count alone without a file.
func (o options) readSettings(warn func(format string, args ...any)) (settings, error) {
	f, err := o.openFile(warn)
	if err != nil {
		return settings{}, err
	}
	s := settings{file: f}
	archive := f.Section("Archive")
	s.root = archive.Path("root", ".")
	if o.root != "" {
		if s.root, err = filepath.Abs(o.root); err != nil {
			return s, err
		}
	}
	if s.log.File = archive.Text("log", "archive.log"); s.log.File == "stderr" {
		s.log.File = ""
	} else if !filepath.IsAbs(s.log.File) {
		s.log.File = filepath.Join(s.root, s.log.File)
	}
	level := archive.Choice("log_level", "info", "debug", "info", "warning", "error")
	_ = s.log.Level.UnmarshalText([]byte(strings.TrimSuffix(level, "ing"))) // a Choice
	s.log.Format = archive.Choice("log_format", "text", "text", "json")
	s.readCrawler(f.Section("Crawler"))
	s.network = readNetwork(f)
	return s, f.Err()
}

// The limits of options and keys.
const (
	mostDepth     = 1_000_000
	mostInterval  = 365 * 24 * time.Hour
	mostInstances = 100
	mostDelay     = 24 * time.Hour
)

func (s *settings) readCrawler(c *config.Section) {
	s.crawl = crawl.Config{
		Depth:     int(c.Int("depth", 5, 0, mostDepth)),
		Interval:  c.Duration("interval", time.Second, 24*time.Hour, 0, mostInterval),
		Instances: int(c.Int("instances", 4, 1, mostInstances)),
		Filters:   c.Names("filters", nil),
		FilterDir: s.file.Dir(),
		Robots:    c.Bool("robots", true),
		UserAgent: c.Text("user_agent", ""),
		Delay:     c.Duration("delay", time.Millisecond, 500*time.Millisecond, 0, mostDelay),
	}
	c.Networks("allow_networks") // checks them
	s.crawl.Networks = c.Text("allow_networks", "")
}

// openFile finds the file: that of --config, archive.ini in the folder of --root, or the usual places.
func (o options) openFile(warn func(format string, args ...any)) (*config.File, error) {
	path := o.config
	if path == "" && o.root != "" {
		path = filepath.Join(o.root, "archive.ini")
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			path = ""
		}
	}
	f, err := config.Open("archive", path)
	if err == nil {
		return f, nil
	}
	if !errors.Is(err, config.ErrNoFile) {
		warn("%v; using the built-in values", err)
	}
	name, err := filepath.Abs(cmp.Or(path, "archive.ini"))
	if err != nil {
		return nil, err
	}
	return config.Parse(name, nil)
}

// crawlOptions override [Crawler].
type crawlOptions struct {
	depth, interval, instances, filters, robots, userAgent, delay, networks string
}

func (o *crawlOptions) declareOptions(c *command.Command) {
	c.Text(&o.depth, "depth", "", "NUMBER", "follow this number of links from a start URL; 0: the start URLs only")
	c.Text(&o.interval, "interval", "", "TIME", "time from the start of a crawl to that of the next one, such as 12h; 0: crawl once; a number without a unit counts seconds")
	c.Text(&o.instances, "instances", "", "NUMBER", "domains that are crawled at once")
	c.Text(&o.filters, "filters", "", "NAMES", "filters, separated by commas; none: no filter")
	c.Choice(&o.robots, "robots", "", "yes|no", "obey robots.txt", "yes", "no")
	c.Text(&o.userAgent, "user-agent", "", "TEXT", "User-Agent of all requests")
	c.Text(&o.delay, "delay", "", "TIME", "least pause between two requests to a host, such as 500ms or 2s; a number without a unit counts milliseconds")
	for _, option := range []string{"proxy", "header"} {
		c.Hint(option, "archive crawler does not have it; hce crawl does, and hce export --format warc keeps what it fetched")
	}
	c.Networks(&o.networks, "networks that are not public and may be crawled, such as 127.0.0.0/8")
}

// applyTo replaces the values of options that are given.
func (o crawlOptions) applyTo(c *crawl.Config) error {
	var errs []error
	number := func(name, text string, lowest, highest int64, set func(n int64)) {
		if text == "" {
			return
		}
		n, err := command.ParseNumber("--"+name, text, lowest, highest)
		if err != nil {
			errs = append(errs, err)
			return
		}
		set(n)
	}
	number("depth", o.depth, 0, mostDepth, func(n int64) { c.Depth = int(n) })
	pause := func(text string, option command.Time, set *time.Duration) {
		if text != "" {
			d, err := option.Parse(text)
			errs, *set = append(errs, err), d
		}
	}
	pause(o.interval, command.Time{Option: "--interval", Most: mostInterval, Bare: time.Second}, &c.Interval)
	number("instances", o.instances, 1, mostInstances, func(n int64) { c.Instances = int(n) })
	pause(o.delay, command.Time{Option: "--delay", Most: mostDelay, Bare: time.Millisecond}, &c.Delay)
	switch o.robots {
	case "":
	case "yes", "no":
		c.Robots = o.robots == "yes"
	default:
		errs = append(errs, fmt.Errorf("--robots %q is not yes or no", o.robots))
	}
	switch o.filters {
	case "":
	case "none":
		c.Filters = nil
	default:
		c.Filters = config.Names(o.filters)
	}
	c.UserAgent = cmp.Or(o.userAgent, c.UserAgent)
	errs = append(errs, command.CheckNetworks(o.networks))
	c.Networks = cmp.Or(o.networks, c.Networks)
	return errors.Join(errs...)
}

// warnUnknown reports keys without effect.
func (s settings) warnUnknown(warn func(format string, args ...any), log *slog.Logger) {
	for _, text := range s.file.Unknown() {
		warn("%s", text)
	}
	s.file.LogUnknown(log)
}
