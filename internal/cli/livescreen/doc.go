// Package livescreen shows a running crawl as a live screen, or as one line of JSON per interval:
// the managers of a daemon (dc-admin top), and its sites (hce top).
//
//	source, err := livescreen.Open(server, classes)
//	defer source.Close()
//	read := func(ctx context.Context) livescreen.Sample { return source.Read(ctx) }
//	style := livescreen.Style{Program: "dc-admin top", Title: "127.0.0.1:5503"}
//	err = livescreen.OnTerminal(ctx, os.Stdin, os.Stdout, read, style, time.Second) // until q
//	err = livescreen.JSON(ctx, os.Stdout, read, time.Second, 10)                    // ten lines
//
// A Source reads the managers; the caller reads the sites. Compare and CompareSites compute a sample
// from two readings, and a sample draws itself; all of that is pure. An unreachable daemon is a
// normal sample: the screen shows it, and the next interval tries again.
//
// Each screen is drawn as a whole, without a library of widgets: such libraries query the
// terminal when a program starts and so corrupt the output of other commands.
package livescreen
