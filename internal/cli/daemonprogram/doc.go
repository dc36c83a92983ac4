// Package daemonprogram is what dc-daemon and dc-node share: the options, the sections of the ini
// file that configure managers, --check-config, signals, and the reports to systemd.
//
//	func main() {
//		os.Exit(daemonprogram.Program{Text: text, AdminPort: 5503, StatusPort: 5580}.Main(os.Args[1:]))
//	}
//
// It turns ini files into the Config of package daemon, and runs it. What may not live here: what a
// manager does, and keys of one of the two programs.
package daemonprogram
