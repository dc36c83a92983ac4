package subcommand

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/strict"
	"hce/dc/internal/wire"
)

func TestExitStatus(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"nothing":            {nil, command.ExitDone},
		"errors":             {command.ErrWithErrors, command.ExitErrors},
		"a mistake":          {command.Refuse("no %s", "URL"), command.ExitRefused},
		"of the service":     {fmt.Errorf("x: %w", &service.Refusal{Op: wire.SiteNew}), command.ExitRefused},
		"problems":           {strict.Error{{Field: "x"}}, command.ExitRefused},
		"an existing output": {fmt.Errorf("open: %w", export.ErrExists), command.ExitRefused},
		"no daemon":          {fmt.Errorf("x: %w", service.ErrUnreachable), command.ExitFailed},
		"a full disk":        {errors.New("no space left on device"), command.ExitFailed},
		"Ctrl-C":             {fmt.Errorf("start: %w", context.Canceled), command.ExitInterrupted},
	} {
		if got := ExitOf(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
