package command

import (
	"maps"
	"slices"

	"hce/dc/internal/config"
)

// concepts are what people ask for in the words of wget, curl, Scrapy and others: long options, and the options of
// our programs that mean it, the best first.
var concepts = []struct{ theirs, ours []string }{
	{[]string{"limit", "max-urls", "max-pages", "pages", "count", "quota", "closespider-pagecount"}, []string{"max-pages", "max-urls", "limit", "count"}},
	{[]string{"wait", "delay", "download-delay", "random-wait", "interval", "waitretry", "pause"}, []string{"delay", "wait", "interval"}},
	{[]string{"rate", "limit-rate", "rate-limit", "max-rate"}, []string{"delay", "wait"}},
	{[]string{"level", "max-depth", "depth", "depth-limit", "recursive"}, []string{"depth"}},
	{[]string{"output", "output-file", "output-document", "outfile", "out", "dest", "directory-prefix", "output-dir", "out-dir"}, []string{"out", "output_file"}},
	{[]string{"user-agent", "useragent", "agent"}, []string{"user-agent"}},
	{[]string{"accept", "accept-regex", "include-directories", "allow"}, []string{"include"}},
	{[]string{"reject", "reject-regex", "exclude-directories", "ignore", "deny"}, []string{"exclude"}},
	{[]string{"domains", "span-hosts", "no-parent", "same-domain", "allowed-domains"}, []string{"scope"}},
	{[]string{"timeout", "max-time", "connect-timeout", "read-timeout"}, []string{"timeout", "dcc_timeout", "maxtime"}},
	{[]string{"input-file", "urls-file", "url-file", "seeds", "seed-file", "list"}, []string{"urls-from", "files-from", "file"}},
	{[]string{"host", "daemon", "address", "endpoint"}, []string{"server", "dcc_clientHost"}},
	{[]string{"dir", "folder", "data-dir", "datadir", "root", "workdir"}, []string{"data", "dir", "folder", "root"}},
	{[]string{"conf", "cfg", "ini", "settings"}, []string{"config", "ini"}},
	{[]string{"id", "site-name"}, []string{"name", "site"}},
	{[]string{"overwrite", "clobber", "replace", "yes"}, []string{"force", "yes"}},
	{[]string{"silent", "no-verbose"}, []string{"quiet"}},
	{[]string{"networks", "allow-local", "allow-private", "private"}, []string{"allow-network"}},
	{[]string{"type", "to", "output-format"}, []string{"format"}},
	{[]string{"columns", "select", "field"}, []string{"fields"}},
	{[]string{"filter", "query", "condition"}, []string{"where", "include"}},
}

// letters are short options of wget and curl, by the long name that they have there.
var letters = map[string]string{
	"-o": "output", "-O": "output-document", "-P": "directory-prefix", "-U": "user-agent", "-A": "user-agent", "-H": "header", "-x": "proxy", "-l": "level", "-w": "wait", "-r": "recursive",
	"-T": "timeout", "-m": "max-time", "-i": "input-file", "-D": "domains", "-I": "include-directories", "-R": "reject", "-X": "exclude-directories", "-k": "insecure", "-b": "cookie", "-u": "user",
	"-e": "referer", "-q": "quiet", "-s": "silent", "-n": "limit", "-f": "format", "-d": "depth", "-y": "yes",
}

// foreignOptionHint says what to use in place of an option that this command does not have and people know from other
// programs. It returns "" if it does not know it.
func (c *Command) foreignOptionHint(arg, name string) string {
	if long := letters[arg[:min(len(arg), 2)]]; len(name) == 1 && long != "" {
		name = long
	}
	if hint := c.hints[name]; hint != "" {
		return hint
	}
	if f := c.cobra.Flags().Lookup(name); f != nil {
		return "use --" + f.Name + c.valueOf(f.Name)
	}
	for _, concept := range concepts {
		if !slices.Contains(concept.theirs, name) {
			continue
		}
		for _, option := range concept.ours {
			if c.cobra.Flags().Lookup(option) != nil {
				return "use --" + option + c.valueOf(option)
			}
		}
		if slices.Contains(concept.ours, "out") && c.cobra.Flags().Lookup("json") != nil {
			return "the output goes to stdout; write it into a file with > FILE"
		}
	}
	return ""
}

// valueOf is the name of the value of an option, behind a space; "" for an option without one.
func (c *Command) valueOf(option string) string {
	f := c.cobra.Flags().Lookup(option)
	if f.NoOptDefVal != "" {
		return ""
	}
	return " " + f.Value.Type()
}

// nearestWord suggests what a word that is no option means: an option without its dashes, or a known value of an option.
func (c *Command) nearestWord(word string) string {
	if near := config.Nearest(word, slices.Sorted(maps.Keys(c.values))); near != "" {
		return config.Suggestion(c.values[near])
	}
	return c.nearestOption(word)
}
