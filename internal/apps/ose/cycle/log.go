package cycle

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"hce/dc/internal/apps/ose/folder"
)

// maxLog is the size from which .oselog becomes .oselog.1.
const maxLog = 1 << 20

// logs are the log of the program and that of a folder.
type logs []*slog.Logger

// openLog returns both logs.
func (c *Cycle) openLog(f *folder.Folder) (logs, func(), error) {
	file, err := f.OpenFile(folder.LogName, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > maxLog {
		err = errors.Join(file.Close(), os.Rename(f.Path(folder.LogName), f.Path(folder.LogName+".1")))
		if err == nil {
			file, err = f.OpenFile(folder.LogName, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return logs{c.Log, slog.New(slog.NewTextHandler(file, nil))}, func() { file.Close() }, nil
}

func (l logs) withArgs(args ...any) (all logs) {
	for _, log := range l {
		all = append(all, log.With(args...))
	}
	return all
}

func (l logs) logAll(level slog.Level, text string, args ...any) {
	for _, log := range l {
		log.Log(context.Background(), level, text, args...)
	}
}

func (l logs) warnAll(text string, args ...any) { l.logAll(slog.LevelWarn, text, args...) }
