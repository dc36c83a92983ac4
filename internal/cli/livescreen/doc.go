// Package livescreen shows a running daemon as a live screen, or as one line of JSON per
// interval.
//
//	source, err := livescreen.Open(server, clients, classes)
//	defer source.Close()
//	terminal, err := livescreen.OpenTerminal(os.Stdin, os.Stdout)
//	defer terminal.Close()
//	style := livescreen.Style{Title: "127.0.0.1:5503"}
//	err = livescreen.Live(ctx, terminal, source.Read, style, time.Second) // until q
//	err = livescreen.JSON(ctx, os.Stdout, source.Read, time.Second, 10)   // ten lines
//
// A Source reads the daemon, Compare computes a sample from two readings, and Draw renders
// it; Compare and Draw are pure. An unreachable daemon is a normal reading: the screen
// shows it, and the next interval tries again.
//
// Each screen is drawn as a whole, without a library of widgets: such libraries query the
// terminal when a program starts and so corrupt the output of other commands.
package livescreen
