package command

import (
	"errors"
	"os"
)

// Standard is the name of stdin as an input, and of stdout as an output.
const Standard = "-"

// BareMessage is the message of an error without the name of the file, which comes before it.
func BareMessage(name string, err error) string {
	var path *os.PathError
	if errors.As(err, &path) && path.Path == name {
		return path.Err.Error()
	}
	return err.Error()
}
