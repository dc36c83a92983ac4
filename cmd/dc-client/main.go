// dc-client asks the crawler cluster for one operation on sites and URLs and
// prints the answer as JSON (docs/spec/objects.md 6).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/flags"
	"hce/dc/internal/cli/manual"
	"hce/dc/internal/config"
	"hce/dc/internal/wire"
)

const notes = `Operations of --command:
  sites       SITE_NEW SITE_UPDATE SITE_STATUS SITE_FIND SITE_CLEANUP SITE_DELETE
  URLs        URL_NEW URL_UPDATE URL_STATUS URL_FETCH URL_CLEANUP URL_DELETE
              URL_AGE URL_PURGE URL_VERIFY
  contents    URL_CONTENT URL_PUT
  statistics  URL_HISTORY URL_STATS F_RECALC
  attributes  ATTRIBUTE_SET ATTRIBUTE_UPDATE ATTRIBUTE_FETCH ATTRIBUTE_DELETE
  proxies     PROXY_NEW PROXY_UPDATE PROXY_STATUS PROXY_FIND PROXY_DELETE
  SQL         SQL_CUSTOM, when SQLCustom of db-task.ini allows it
  real time   BATCH: pages are crawled, processed and answered at once

Examples:
  dc-client -cmd SITE_NEW -f site.json
  dc-client -cmd SITE_STATUS -ff '{"id":"<site id>"}'
  dc-client -cmd SITE_UPDATE -ff '{"id":"<site id>","state":3,"updateType":2}'
  dc-client -cmd URL_FETCH -ff '{"sitesList":["<site id>"],"maxURLs":5}'
  dc-client -cmd URL_DELETE -ff '{"siteId":"<site id>","url":"http://h/old.html"}'

The answer is one JSON text on stdout. Exit status: 0 an answer of the service
(look at errorCode in it), 1 a refused request, an unreadable ini file or no
answer in time, 2 wrong or missing arguments, 3 to 5 failures on the way;
error_code in the answer is the same number.`

type options struct {
	config, command, file, fields, mode, merge string
	timeout, host, port, output, errorFile     string
	verbose                                    string
}

func main() {
	var o options
	s := flags.New("dc-client", "asks the crawler cluster for one operation")
	s.Text(&o.config, "config", "c", "FILE", "ini file; without it dc-client.ini is looked for in the current\nfolder and in /etc/dc-client/")
	s.Text(&o.command, "command", "cmd", "NAME", "operation")
	s.Text(&o.file, "file", "f", "FILE", "request as JSON")
	s.Text(&o.fields, "fields", "ff", "JSON", "object whose fields are laid over the request; file:// values\nare replaced by the text of that file")
	s.Text(&o.mode, "mode", "mode", "0|1|2", "how: 0 replace values (default), 1 merge objects, 2 merge and append")
	s.Text(&o.merge, "merge", "mrg", "0|1", "merge the answers of several nodes (default 1)")
	s.Text(&o.timeout, "dcc_timeout", "dcc_timeout", "MS", "wait that long for the answer")
	s.Text(&o.host, "dcc_clientHost", "dcc_clientHost", "HOST", "host of the daemon")
	s.Text(&o.port, "dcc_clientPort", "dcc_clientPort", "PORT", "port of the daemon")
	s.Text(&o.output, "output_file", "o", "FILE", "write the answer there instead of stdout")
	s.Text(&o.errorFile, "error_file", "e", "FILE", "also write errorCode and errorMessage of this run there")
	s.Text(&o.verbose, "verbose", "v", "LEVEL", "say on stderr what is done")
	s.Values("command", operations()...)
	s.Values("mode", "0", "1", "2")
	s.Values("merge", "0", "1")
	s.Note(notes)
	err := s.Parse(os.Args[1:])
	text, asked := manual.Answer(s, err)
	switch {
	case asked:
		fmt.Print(text)
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "dc-client:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(o.print(o.run(ctx)))
}

// operations are the names of those that clients may ask for.
func operations() (names []string) {
	for op := range wire.Op(wire.ResponseOffset) {
		if op.Client() {
			names = append(names, op.String())
		}
	}
	return names
}

// run does what the options say.
func (o options) run(ctx context.Context) client.Outcome {
	server, err := o.server()
	switch {
	case errors.Is(err, errPort):
		return client.Failure(client.ExitFailure, err.Error())
	case err != nil:
		err = oneLine(err)
		fmt.Fprintln(os.Stderr, "dc-client:", err)
		return client.Outcome{JSON: client.Failure(client.ExitFailure, "Error loading application config file. "+err.Error()).JSON, Exit: 1}
	}
	if o.command == "" {
		return client.Failure(client.ExitArguments, "Not present [--help] or [--command] mandatory args")
	}
	op, ok := wire.ParseOp(o.command)
	if !ok || !op.Client() {
		return client.Failure(client.ExitArguments, fmt.Sprintf("[--command] arg's value not present in value's list: %q", o.command))
	}
	if o.file == "" && o.fields == "" {
		return client.Failure(client.ExitArguments, "Absent [--file] or [--fields] arg with [--commands] arg")
	}
	mode, err := strconv.Atoi(o.mode)
	if o.mode != "" && (err != nil || mode < client.Replace || mode > client.Append) {
		return client.Failure(client.ExitArguments, fmt.Sprintf("[--mode] arg's value %q is not 0, 1 or 2", o.mode))
	}
	object, err := client.Request(op, o.file, o.fields, mode)
	if err != nil {
		return client.Failure(client.ExitRefused, err.Error())
	}
	call := client.Call{Op: op, Object: object, Server: server}
	if o.merge != "" {
		merge := o.merge != "0" && !strings.EqualFold(o.merge, "false")
		call.Merge = &merge
	}
	if o.verbose != "" {
		fmt.Fprintf(os.Stderr, "dc-client: %s to %s:%d\n", op, server.Host, server.Port)
	}
	return call.Do(ctx)
}

// oneLine joins the complaints about several values of an ini file.
func oneLine(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}

var errPort = errors.New("[--dcc_clientPort] is not a number from 1 to 65535")

// longestWait bounds --dcc_timeout.
const longestWait = 24 * time.Hour

// server is where the ini file says, or the options.
func (o options) server() (client.Server, error) {
	path, err := config.Find("dc-client", o.config)
	if err != nil {
		return client.Server{}, err
	}
	f, err := config.Load(path)
	if err != nil {
		return client.Server{}, err
	}
	s := f.Section("dcc")
	server := client.Server{
		Host:    strings.Trim(s.Text("clientHost", "127.0.0.1"), `"'`),
		Port:    int(s.Int("clientPort", 5504, 1, 65535)),
		Timeout: s.Duration("timeout", time.Millisecond, 90*time.Second, time.Millisecond, longestWait),
		Curve:   client.Keys(s),
	}
	if err := f.Err(); err != nil {
		return server, err
	}
	if o.host != "" {
		server.Host = strings.Trim(o.host, `"'`)
	}
	if o.port != "" {
		n, err := strconv.ParseUint(o.port, 10, 16)
		if err != nil || n == 0 {
			return server, fmt.Errorf("%w: %q", errPort, o.port)
		}
		server.Port = int(n)
	}
	// What is not all digits is ignored (docs/spec/objects.md 6.1).
	if n, err := strconv.ParseUint(o.timeout, 10, 63); err == nil && n > 0 {
		server.Timeout = time.Duration(min(n, uint64(longestWait/time.Millisecond))) * time.Millisecond
	}
	return server, nil
}

// print writes the outcome, without a final newline (docs/spec/objects.md 3), and gives the
// exit status.
func (o options) print(out client.Outcome) int {
	text, err := client.Text(out.JSON)
	if err != nil {
		failure := client.Failure(client.ExitArguments, "Error: JSON serialize error: "+err.Error())
		out.Exit = failure.Exit
		text, _ = client.Text(failure.JSON) // plain texts and numbers
	}
	if o.output != "" {
		err = os.WriteFile(o.output, text, 0o644)
	} else {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dc-client:", err)
		return client.ExitFailure
	}
	if o.errorFile != "" {
		var e struct {
			Code    int    `json:"error_code"`
			Message string `json:"error_message"`
		}
		_ = json.Unmarshal(text, &e) // absent in an answer of the service
		report, _ := client.Text(map[string]any{"errorCode": e.Code, "errorMessage": e.Message})
		if err := os.WriteFile(o.errorFile, report, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "dc-client:", err)
			return client.ExitFailure
		}
	}
	return out.Exit
}
