// Package livescreen is the live screen of dc-admin: what the managers of a daemon do,
// once per interval, for people on a terminal and for scripts as JSON.
//
//	source, err := livescreen.Open(server, clients, classes)
//	defer source.Close()
//	terminal, err := livescreen.OpenTerminal(os.Stdin, os.Stdout)
//	defer terminal.Close()
//	err = livescreen.Live(ctx, terminal, source, livescreen.Style{Title: "127.0.0.1:5503"}, time.Second) // until q
//	err = livescreen.JSON(ctx, os.Stdout, source, time.Second, 10)                              // ten lines
//
// A Source reads, Compare makes the numbers of two readings, Draw makes the
// screen of them; the latter two are pure. A daemon that is away is a reading
// like any other: the screen says so, and the next interval tries again.
//
// The screen is drawn whole at every turn; no library of widgets is behind it, as
// those ask the terminal for its colours as soon as a program with them starts,
// and so spoil the output of dc-admin's other commands. This package alone knows
// the terminal library. Neighbours: client below;
// cmd/dc-admin above.
package livescreen
