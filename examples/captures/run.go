package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"hce/dc/examples/siteserver/site"
	"hce/dc/internal/files"
	"hce/dc/internal/testkit/pseudoterminal"
)

const (
	width, height = 100, 30
	limit         = 2 * time.Minute // of the whole run
)

// capturing is one run.
type capturing struct {
	ctx       context.Context
	bin, data string
	addresses map[string]string // of the servers, to names of the same length that are shown
	screens   map[string]pseudoterminal.Screen
}

// writeCaptures writes the captures to out. Everything that it started has ended when it returns.
func writeCaptures(ctx context.Context, bin, out string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	folder, err := os.MkdirTemp("", "captures-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	c := &capturing{ctx: ctx, bin: bin, data: filepath.Join(folder, "hce"), addresses: map[string]string{}, screens: map[string]pseudoterminal.Screen{}}
	if err := c.takePictures(); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, screen := range c.screens {
		if err := files.Write(filepath.Join(out, name+".svg"), []byte(drawSVG(screen, c.replacements())), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// takePictures crawls two sites to their end, and takes its pictures during the crawl of a third one and after it.
func (c *capturing) takePictures() error {
	var urls []string
	for _, name := range []string{"library.example", "harbour.example", "oldtown.example"} {
		root, closeServer, err := c.serveSite(name)
		if err != nil {
			return err
		}
		defer closeServer()
		urls = append(urls, root)
	}
	for i, name := range []string{"library", "harbour"} {
		if _, err := c.awaitEnd(c.startTerminal("crawl", urls[i], "--name", name, "--max-pages", "20")); err != nil {
			return err
		}
	}
	crawl, err := c.startTerminal("crawl", urls[2], "--name", "oldtown")
	if err != nil {
		return err
	}
	defer crawl.Close()
	if err := c.captureTop(); err != nil {
		return err
	}
	for name, p := range map[string]func() (*pseudoterminal.Terminal, error){
		"crawl":   func() (*pseudoterminal.Terminal, error) { return crawl, nil },
		"site-ls": func() (*pseudoterminal.Terminal, error) { <-crawl.Ended; return c.startTerminal("site", "ls") },
	} {
		if c.screens[name], err = c.awaitEnd(p()); err != nil {
			return err
		}
	}
	return nil
}

// captureTop takes the picture of hce top.
func (c *capturing) captureTop() error {
	p, err := c.startTerminal("top", "--interval", "1s")
	if err != nil {
		return err
	}
	defer p.Close()
	busy := regexp.MustCompile(`/ +active +\d\d+ +\d+ +\d+ +[0-9.]+ +[1-9]`) // errors; their causes are sampled later
	err = p.Await(c.ctx, func(s pseudoterminal.Screen) bool {
		c.screens["top-sites"] = s
		text := s.Text()
		return busy.MatchString(text) && strings.Contains(text, "slowest") && strings.Contains(text, "HTTP_ERROR")
	})
	if err != nil {
		return fmt.Errorf("top-sites: %w", err)
	}
	if err := p.Type("q"); err != nil {
		return err
	}
	return <-p.Ended
}

// startTerminal starts hce on a terminal. The options that a reader does not need are not shown.
func (c *capturing) startTerminal(args ...string) (*pseudoterminal.Terminal, error) {
	before := "$ hce " + strings.Join(args, " ") + "\r\n"
	args = append(args, "--data", c.data)
	if args[0] == "crawl" {
		// Two pages of the example site never end: one sends single bytes, one sends many.
		args = append(args, "--delay", "0s", "--allow-network", "127.0.0.0/8", "--set", "httpTimeout=5000", "--set", "maxResourceSize=10000000")
	}
	cmd := exec.Command(filepath.Join(c.bin, "hce"), args...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=")
	p, err := pseudoterminal.Start(cmd, width, height, before)
	if err != nil {
		return nil, fmt.Errorf("start hce: %w", err)
	}
	return p, nil
}

// awaitEnd waits for the end of hce and returns its screen. Status 1 means that pages failed, as they should.
func (c *capturing) awaitEnd(p *pseudoterminal.Terminal, err error) (screen pseudoterminal.Screen, _ error) {
	if err != nil {
		return screen, err
	}
	defer p.Close()
	select {
	case <-p.Ended:
	case <-c.ctx.Done():
		return screen, c.ctx.Err()
	}
	screen = p.Screen()
	if code := p.ExitCode(); code > 1 {
		return screen, fmt.Errorf("hce ended with status %d:\n%s", code, screen.Text())
	}
	return screen, nil
}

// serveSite serves the example site on a free port. name is shown instead of its address.
func (c *capturing) serveSite(name string) (root string, closeServer func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: site.Handler(site.Options{}), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // returns after Close
	c.addresses[listener.Addr().String()] = name
	return "http://" + listener.Addr().String() + "/", func() { server.Close() }, nil
}

// replacements are for what differs from run to run.
func (c *capturing) replacements() []replacement {
	list := []replacement{
		{regexp.MustCompile(regexp.QuoteMeta(c.data)), "~/.local/share/hce"},
		{regexp.MustCompile(`\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\b`), "2026-01-02 03:04:05"},
	}
	for address, name := range c.addresses {
		list = append(list, replacement{regexp.MustCompile(regexp.QuoteMeta(address)), name})
	}
	return list
}
