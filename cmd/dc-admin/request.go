package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
	"hce/dc/internal/files"
)

// request is the options of dc-admin without a sub-command.
type request struct {
	config, command, fields, classes, timeout string
	force                                     bool
}

// main runs the command of --cmd, prints its answer and returns the exit status.
func (r request) main(ctx context.Context) int {
	out := r.runRequest(ctx)
	answer, err := client.Text(out.JSON)
	if err == nil {
		_, err = os.Stdout.Write(append(answer, '\n'))
	}
	if err != nil {
		printError(text.Name, err)
		return command.ExitFailed
	}
	return out.Exit
}

// printError prints an error of the program, or of one of its commands.
func printError(name string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, files.ExplainFull(err, ""))
}

// reportUsageError reports a usage or configuration error on stderr and in the answer.
func reportUsageError(err error) client.Outcome {
	printError(text.Name, err)
	return client.AdminFailure(command.ExitRefused, err.Error())
}

func (r request) runRequest(ctx context.Context) client.Outcome {
	i, err := client.ReadInstallation(r.config)
	switch {
	case err != nil:
		printError(text.Name, err)
		return client.AdminFailure(command.ExitRefused, err.Error())
	case r.command == "":
		return client.AdminFailure(command.ExitErrors, "--cmd is missing; it is one of "+client.Commands)
	case r.command == "DRAIN":
		return r.runDrain(ctx, i)
	case r.force || r.timeout != "":
		return reportUsageError(errors.New("--force and --timeout are for DRAIN alone"))
	}
	c := client.Command{Name: r.command, Server: i.Admin, Classes: config.Names(r.classes)}
	if c.Fields, err = client.Fields(r.command, r.fields); err != nil {
		return reportUsageError(err)
	}
	needsNames := r.command == "GET" || r.command == "SET"
	switch {
	case r.command == "RESUME" && r.fields != "" && r.fields != "0":
		return reportUsageError(fmt.Errorf("--fields is %q: RESUME takes none", r.fields))
	case len(c.Classes) > 0:
	case r.command == "STAT":
		c.Classes, _ = i.Managers(ctx)
	case r.command == "STOP":
		_, c.Classes = i.Managers(ctx)
	case needsNames:
		return reportUsageError(fmt.Errorf("--classes is missing: %s needs the names of managers", r.command))
	}
	if len(c.Fields) == 0 && needsNames {
		return reportUsageError(fmt.Errorf("--fields is missing: %s needs names", r.command))
	}
	return c.Do(ctx)
}
