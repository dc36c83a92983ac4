// dc-client sends one operation on sites and URLs to the daemon and prints the answer as
// JSON (docs/spec/objects.md 6).
package main

import (
	"os"
	"slices"

	"hce/dc/internal/cli/command"
)

var text = command.Text{
	Name: "dc-client", Summary: "sends one operation to the crawler cluster",
	Description: `Values of --command:
  sites       SITE_NEW SITE_UPDATE SITE_STATUS SITE_FIND SITE_CLEANUP SITE_DELETE
  URLs        URL_NEW URL_UPDATE URL_STATUS URL_FETCH URL_CLEANUP URL_DELETE
              URL_AGE URL_PURGE URL_VERIFY
  contents    URL_CONTENT URL_PUT
  statistics  URL_HISTORY URL_STATS F_RECALC
  attributes  ATTRIBUTE_SET ATTRIBUTE_UPDATE ATTRIBUTE_FETCH ATTRIBUTE_DELETE
  proxies     PROXY_NEW PROXY_UPDATE PROXY_STATUS PROXY_FIND PROXY_DELETE
  SQL         SQL_CUSTOM, if SQLCustom of db-task.ini allows it
  real time   BATCH: crawl and process pages at once and return their contents

The answer is one JSON text on stdout. Keys, properties and filters without effect are named in
warnings on stderr. With --strict they are refused before anything is sent, as are addresses that
cannot be crawled; and an answer that says that something was refused, failed or is not known
has error_code and error_message.`,
	Examples: `  dc-client -cmd SITE_NEW -f site.json
  dc-client -cmd SITE_STATUS -ff '{"id":"<site id>"}'
  dc-client -cmd SITE_UPDATE -ff '{"id":"<site id>","state":3,"updateType":2}'
  dc-client -cmd URL_FETCH -ff '{"sitesList":["<site id>"],"maxURLs":5}'
  dc-client -cmd URL_DELETE -ff '{"siteId":"<site id>","url":"http://h/old.html"}'
  dc-client --strict -cmd SITE_NEW -f site.json`,
	ExitStatus: `0 an answer of the service (see errorCode in it); 1 a refused request, an unreadable ini
file or no answer in time; 2 wrong or missing arguments; 3 and 5 transport and other
failures; 4 interrupted. error_code in the answer is the same number, 5 for the ini file.

With --strict: 0 everything in the answer succeeded; 1 a part of it failed; 2 refused: wrong
arguments, request or ini file, or nothing in the answer succeeded; 3 no daemon or node answers,
or a failure of the machine; 4 interrupted.`,
}

func main() {
	ctx := command.SignalContext()
	var o options
	if slices.Contains(os.Args[1:], "--strict") {
		text.UsageError = command.ExitRefused
	}
	c := command.New(text, func() int { return o.printOutcome(o.sendOperation(ctx)) })
	c.Config(&o.config, text.Name)
	c.Choice(&o.command, "command", "cmd", "NAME", "operation, see above", operationNames()...)
	c.Text(&o.file, "file", "f", "FILE", "JSON file of the request")
	c.Text(&o.fields, "fields", "ff", "JSON", "object whose fields override those of the request; a value file://PATH is replaced by the contents of that file")
	c.Choice(&o.mode, "mode", "", "0|1|2", "how --fields overrides: 0 replace values (default), 1 merge objects, 2 merge objects and append lists", "0", "1", "2")
	c.Choice(&o.merge, "merge", "mrg", "0|1", "merge the answers of several nodes (default 1)", "0", "1")
	c.Text(&o.timeout, "dcc_timeout", "", "TIME", "time to wait for the answer, such as 2s; a number without a unit counts milliseconds; default: timeout of the ini file")
	c.Text(&o.host, "dcc_clientHost", "", "HOST", "host of the daemon; default: clientHost of the ini file")
	c.Text(&o.port, "dcc_clientPort", "", "PORT", "port of the daemon; default: clientPort of the ini file")
	c.Text(&o.output, "output_file", "o", "FILE", "write the answer to this file instead of stdout")
	c.Text(&o.errorFile, "error_file", "e", "FILE", "write errorCode and errorMessage of this run to this file too")
	c.Flag(&o.strict, "strict", "", "refuse what the service would ignore; exit with 0 only if everything in the answer succeeded")
	c.Text(&o.verbose, "verbose", "v", "LEVEL", "print the operation and the server on stderr; any value")
	os.Exit(c.Main(os.Args[1:]))
}
