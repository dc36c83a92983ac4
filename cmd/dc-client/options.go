package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/strict"
	"hce/dc/internal/config"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
)

// options are the values of the command line; empty if not given.
type options struct {
	config, command, file, fields, mode, merge string
	timeout, host, port, output, errorFile     string
	verbose                                    string
	strict                                     bool
}

// operationNames returns the names of the operations that clients may send.
func operationNames() (names []string) {
	for op := range wire.Op(wire.ResponseOffset) {
		if op.Client() {
			names = append(names, op.String())
		}
	}
	return names
}

// sendOperation sends the operation, or returns the failure that the options or the ini file cause.
func (o options) sendOperation(ctx context.Context) client.Outcome {
	server, err := o.readServer()
	switch {
	case errors.Is(err, errPort):
		return client.WrongPort.Outcome(err.Error())
	case err != nil:
		err = errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
		if !o.strict { // which prints every error
			fmt.Fprintln(os.Stderr, "dc-client:", err)
		}
		return client.WrongConfig.Outcome("Error loading application config file. " + err.Error())
	}
	op, mode, err := o.readArguments()
	if err != nil {
		return client.WrongArguments.Outcome(err.Error())
	}
	object, err := client.Request(op, o.file, o.fields, mode)
	if err != nil {
		return client.RefusedRequest.Outcome(err.Error())
	}
	if err := o.checkOutputs(); err != nil { // print names it
		return client.Unexpected.Outcome(err.Error())
	}
	problems := strict.Check(op, object)
	if o.strict && len(problems) > 0 {
		return client.RefusedRequest.Outcome(strict.Error(problems).Error())
	}
	warnProblems(problems)
	call := client.Call{Op: op, Object: object, Server: server}
	if o.merge != "" {
		merge := o.merge != "0" && !strings.EqualFold(o.merge, "false")
		call.Merge = &merge
	}
	if o.verbose != "" {
		fmt.Fprintf(os.Stderr, "dc-client: %s to %s:%d\n", op, server.Host, server.Port)
	}
	if o.strict {
		return sendStrict(ctx, call)
	}
	return call.Do(ctx)
}

// checkOutputs refuses files that cannot be written before anything is sent: the service would have done the work.
func (o options) checkOutputs() error {
	for _, path := range []string{o.output, o.errorFile} {
		if path == "" {
			continue
		}
		if err := files.CheckOutput(path); err != nil {
			return err
		}
	}
	return nil
}

// warnProblems prints what has no effect in the request.
func warnProblems(problems []strict.Problem) {
	for _, p := range problems {
		if !p.Refused { // the request fails
			fmt.Fprintln(os.Stderr, "dc-client: warning:", p)
		}
	}
}

// readArguments reads --command and --mode, and refuses missing options.
func (o options) readArguments() (op wire.Op, mode int, err error) {
	op, known := wire.ParseOp(o.command)
	switch {
	case o.command == "":
		return op, 0, errors.New("--command is missing; --help lists the operations")
	case !known || !op.Client():
		return op, 0, fmt.Errorf("--command %q is not an operation%s; --help lists them", o.command, config.Suggestion(config.Nearest(o.command, operationNames())))
	case o.file == "" && o.fields == "":
		return op, 0, errors.New("the request is missing; give it with --file FILE, --fields JSON, or both")
	case o.mode == "":
		return op, client.Replace, nil
	}
	mode, err = strconv.Atoi(o.mode)
	if err != nil || mode < client.Replace || mode > client.Append {
		return op, 0, fmt.Errorf("--mode %q is not 0, 1 or 2", o.mode)
	}
	return op, mode, nil
}

var errPort = errors.New("--dcc_clientPort is not a number from 1 to 65535")

// readServer is the server of the ini file, with the overrides of the options.
func (o options) readServer() (client.Server, error) {
	server, f, err := client.ReadClients(o.config)
	if err != nil {
		return server, err
	}
	if unknown := f.Unknown(); o.strict && len(unknown) > 0 {
		return server, fmt.Errorf("%s has names without effect: %s; dc-client.ini has the section [dcc] only", cmp.Or(o.config, "dc-client.ini"), strings.Join(unknown, "; "))
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
	server.Timeout = o.readTimeout(server.Timeout)
	return server, nil
}

// readTimeout is the time of --dcc_timeout, or the one of the ini file. A value that is no time is ignored, with a
// warning, and a long one is shortened (docs/spec/objects.md 6.1).
func (o options) readTimeout(configured time.Duration) time.Duration {
	if o.timeout == "" {
		return configured
	}
	if n, err := strconv.ParseUint(o.timeout, 10, 63); err == nil && n > 0 {
		return time.Duration(min(n, uint64(client.LongestTimeout/time.Millisecond))) * time.Millisecond
	}
	d, err := command.Time{Option: "--dcc_timeout", Least: time.Millisecond, Most: client.LongestTimeout, Bare: time.Millisecond}.Parse(o.timeout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "dc-client: warning: %v; using %s\n", err, configured)
		return configured
	}
	return d
}

// printOutcomeError prints the error of an outcome of --strict for a person.
func printOutcomeError(out client.Outcome) {
	failure, failed := out.JSON.(map[string]any)
	if !failed {
		return
	}
	for line := range strings.SplitSeq(fmt.Sprint(failure["error_message"]), "\n") {
		fmt.Fprintln(os.Stderr, "dc-client:", line)
	}
}

// printOutcome writes the outcome without a final newline (docs/spec/objects.md 3) and returns
// the exit status.
func (o options) printOutcome(out client.Outcome) int {
	unwritten := client.Unexpected.Outcome("")
	if o.strict {
		out, unwritten = out.Strict(), unwritten.Strict()
		printOutcomeError(out)
	}
	text, err := client.Text(out.JSON)
	if err != nil {
		out = client.Unexpected.Outcome(err.Error())
		text, _ = client.Text(out.JSON) // strings and numbers: cannot fail
	}
	if o.output != "" {
		err = os.WriteFile(o.output, text, 0o644)
	} else {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dc-client:", files.ExplainFull(err, ""))
		return unwritten.Exit
	}
	if o.errorFile != "" {
		var e struct {
			Code    int    `json:"error_code"`
			Message string `json:"error_message"`
		}
		_ = json.Unmarshal(text, &e) // absent from an answer of the service
		report, _ := client.Text(map[string]any{"errorCode": e.Code, "errorMessage": e.Message})
		if err := os.WriteFile(o.errorFile, report, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "dc-client:", files.ExplainFull(err, ""))
			return unwritten.Exit
		}
	}
	return out.Exit
}
