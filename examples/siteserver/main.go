// Command siteserver serves the example site, or a folder of HTML, as a target for a crawl.
//
//	siteserver -addr 127.0.0.1:0 -log requests.jsonl
//	siteserver -dir /some/html/folder
//
// It prints one line, "listening on http://127.0.0.1:PORT/", on stdout and ends on SIGTERM
// or SIGINT. With -exit-on-stdin it also ends when stdin closes, so that it cannot outlive
// its parent. The exit code is 0 after a regular end, 1 if it cannot serve, 2 for wrong
// flags.
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
	err := runServer(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "siteserver:", err)
		os.Exit(1)
	}
}

// errUsage is a wrong flag, which was already reported.
var errUsage = errors.New("wrong arguments")

// runServer serves until ctx ends or, with -exit-on-stdin, until stdin closes.
func runServer(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
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
			return fmt.Errorf("%s is not a folder", *dir)
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
	fmt.Fprintf(stdout, "listening on http://%s/\n", listener.Addr())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *exitOnStdin {
		go func() { // ends with stdin
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}
	return serveUntilDone(ctx, listener, site.Handler(options))
}

// serveUntilDone serves until ctx ends.
func serveUntilDone(ctx context.Context, listener net.Listener, handler http.Handler) error {
	// No write timeout: slow answers are a purpose of this server.
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
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
		server.Close() // a client still reads an endless page
	}
	<-served
	return nil
}
