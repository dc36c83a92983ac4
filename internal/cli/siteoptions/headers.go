package siteoptions

import (
	"encoding/json"
	"strings"

	"hce/dc/internal/cli/command"
)

// headerText returns the value of the property of headers, "" without such options.
func (o Settings) headerText() (string, error) {
	values := map[string][]string{}
	for _, line := range o.headers {
		name, value, found := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !found || name == "" {
			return "", command.Refuse("--header has no colon; the form is 'Name: value'")
		}
		values[name] = append(values[name], strings.TrimSpace(value))
	}
	if o.agent != "" {
		values["User-Agent"] = []string{o.agent}
	}
	if len(values) == 0 {
		return "", nil
	}
	text, err := json.Marshal(values)
	return string(text), err
}

// hintOptions names what is used in place of options that people know from wget, curl and Scrapy, and that have no
// option of the same meaning (command.concepts).
func hintOptions(c *command.Command) {
	for option, hint := range map[string]string{
		"rate":      "use --delay TIME, the pause between two requests: 2 requests a second are --delay 500ms",
		"recursive": "a crawl follows links; use --depth N to limit it",
		"domains":   "use --scope domain, or --include PATTERN", "no-parent": "use --scope prefix", "cookie": "use --property HTTP_COOKIE='name=value'",
		"referer": "use --header 'Referer: ADDRESS'",
		"user":    "use --property HTTP_AUTH_NAME=USER --property HTTP_AUTH_PWD=PASSWORD", "no-check-certificate": "use --property TLSVerify=0",
		"insecure": "use --property TLSVerify=0", "concurrency": "use --property HostConcurrency=N", "timeout": "use --set httpTimeout=MILLISECONDS",
		"max-redirs": "use --property HTTP_REDIRECTS_MAX=N", "ignore-robots": "the owner of a site may set --property ROBOTS_MODE=0",
		"mirror": "a crawl follows all links; write the files as received with: --out DIR --format files",
	} {
		c.Hint(option, hint)
	}
}
