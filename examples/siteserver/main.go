// Command siteserver serves the example site, or a folder of HTML, so that
// there is something to crawl.
//
//	siteserver -addr 127.0.0.1:0 -log requests.jsonl
//	siteserver -dir /some/html/folder
//
// It prints one line, "listening on http://127.0.0.1:PORT/", on stdout and
// ends on SIGTERM or an interrupt, and with -exit-on-stdin also when its
// standard input closes, so that it cannot outlive the program that started
// it. Exit code 0 after a regular end, 1 when it cannot serve, 2 on wrong flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"hce/dc/examples/siteserver/site"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "siteserver:", err)
		os.Exit(1)
	}
}

// errUsage is a wrong flag; the flag package has told about it.
var errUsage = errors.New("wrong arguments")

// run serves until ctx ends or, if asked to, until stdin closes.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("siteserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:0", "listen on `host:port`; port 0 takes a free one")
	dir := flags.String("dir", "", "serve this `folder` as it is, instead of the example site")
	logFile := flags.String("log", "", "write one JSON line for each request to this `file`")
	exitOnStdin := flags.Bool("exit-on-stdin", false, "end when the standard input closes")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintln(stderr, "siteserver: unexpected argument:", flags.Arg(0))
		return errUsage
	}

	options := site.Options{Dir: *dir}
	if *dir != "" {
		if info, err := os.Stat(*dir); err != nil {
			return err
		} else if !info.IsDir() {
			return fmt.Errorf("%s is no folder", *dir)
		}
	}
	if *logFile != "" {
		log, err := os.OpenFile(*logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		defer log.Close()
		options.Log = log
	}

	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	// No write time-out: slow answers are what this server is for.
	server := &http.Server{
		Handler:           site.Handler(options),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	fmt.Fprintf(stdout, "listening on http://%s/\n", listener.Addr())

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *exitOnStdin {
		// This goroutine ends with stdin, at the latest with the process.
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, done := context.WithTimeout(context.Background(), time.Second)
	defer done()
	if err := server.Shutdown(grace); err != nil {
		server.Close() // somebody still reads a page without an end
	}
	<-served
	return nil
}
