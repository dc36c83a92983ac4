package command

// Exit statuses. hce, dc-admin and dc-client --strict use all of them. Programs with an older contract
// use the same numbers as far as it allows (docs/errors.md).
const (
	ExitDone        = 0
	ExitErrors      = 1 // done, but something is not as it should be
	ExitRefused     = 2 // wrong arguments or values; nothing was changed
	ExitFailed      = 3 // no answer, or a failure of the machine
	ExitInterrupted = 4 // by Ctrl-C or SIGTERM
)
