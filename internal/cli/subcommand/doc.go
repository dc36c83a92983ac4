// Package subcommand is the frame of the sub-commands of hce: the place of the data, the service there, the sites and URLs
// that arguments name, output and exit status.
//
//	p := subcommand.Program{Ctx: ctx, Out: os.Stdout, Talk: os.Stderr}
//	c := p.NewLeaf(text, &options, func(s *subcommand.Session) error {
//		site, err := s.OpenSite(words[0])
//		...
//	})
//
// Other programs that work with the data of hce use Open.
package subcommand
