// Command hostileweb serves a web that misbehaves in every known way, to test crawlers.
//
//	hostileweb --listen 127.0.0.1:8990 --log requests.jsonl
//	hostileweb --list
//
// The first page of the main host lists and explains every trap. Hosts with a hostile
// robots.txt or TLS take the following ports. --dns also starts a hostile name server, see
// --help.
//
// It prints one line per host on stdout and ends on SIGTERM or SIGINT. The exit code is 0
// after a regular end, 1 if it cannot serve, 2 for wrong flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"hce/dc/examples/hostileweb/nameserver"
	"hce/dc/examples/hostileweb/web"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := runServer(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "hostileweb:", err)
		os.Exit(1)
	}
}

// errUsage is a wrong flag, which was already reported.
var errUsage = errors.New("wrong arguments")

const usage = `Usage: hostileweb [flags]

Serves a web that misbehaves: endless bodies, wrong lengths, decompression bombs,
floods, loops, link traps, broken charsets, invalid certificates. Open the main
host in a browser, or read --list, to see what each address does and what error
a crawler must report for it.

`

const dnsUsage = "also answer DNS questions on this UDP `address`, such as 127.0.0.1:8953; the names are rebind.test (127.0.0.1 first, then 10.0.0.1), inside.test, mixed.test, flood.test, nothing.test and silent.test"

// runServer serves until ctx ends.
func runServer(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("hostileweb", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	listen := flags.String("listen", "127.0.0.1:8990", "address of the main host; the others take the `ip:port`s after it, or free ones after port 0")
	logFile := flags.String("log", "", "add one JSON line for each HTTP request to this `file`")
	authority := flags.String("authority", "", "write the certificate to trust for the TLS hosts to this `file`")
	dns := flags.String("dns", "", dnsUsage)
	list := flags.Bool("list", false, "print a table of all traps and end")
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-help" || args[0] == "-h") {
		flags.SetOutput(stdout) // requested help is not an error
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintln(stderr, "hostileweb: unexpected argument:", flags.Arg(0))
		return errUsage
	}
	if *list {
		return web.List(stdout)
	}

	options := web.Options{Listen: *listen}
	if *logFile != "" {
		log, err := os.OpenFile(*logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		defer log.Close()
		options.Log = log
	}
	w, err := web.Start(options)
	if err != nil {
		return err
	}
	defer w.Close()
	if *authority != "" {
		if err := os.WriteFile(*authority, w.Authority(), 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "listening on %s\n", w.Root())
	for _, h := range w.Hosts()[1:] {
		fmt.Fprintf(stdout, "  %-16s %s\n", h.Name, h.URL)
	}
	if *dns != "" {
		names, err := nameserver.Start(*dns, nameserver.Tricks)
		if err != nil {
			return err
		}
		defer names.Close()
		fmt.Fprintf(stdout, "answering DNS on %s\n", names.Addr())
	}
	<-ctx.Done()
	return nil
}
