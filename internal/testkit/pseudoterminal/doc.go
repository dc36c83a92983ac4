// Package pseudoterminal runs a program on a terminal without a device, and knows what its screen
// shows. Tests and the captures of the documentation use it.
//
//	p, err := pseudoterminal.Start(exec.Command("bin/hce", "top"), 100, 30)
//	defer p.Close()
//	err = p.Await(ctx, func(s pseudoterminal.Screen) bool { return strings.Contains(s.Text(), "PER SEC") })
//	err = p.Type("q")
//	err = <-p.Ended
//
// A Screen understands the control sequences (ECMA-48) that our programs write; others are an error.
package pseudoterminal
