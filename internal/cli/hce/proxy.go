package hce

import (
	"os"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/cli/strict"
	"hce/dc/internal/wire"
)

// fromEnvironment is the value of --proxy that takes the proxy of the environment.
const fromEnvironment = "env"

// proxyVariables name the proxy of the programs of a machine, in the order in which they count.
var proxyVariables = []string{"https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}

// environmentProxy returns the first proxy of the environment and the name of its variable.
func environmentProxy() (name, address string) {
	for _, name := range proxyVariables {
		if address := strings.TrimSpace(os.Getenv(name)); address != "" {
			return name, address
		}
	}
	return "", ""
}

// proxyAddress returns the address of --proxy, as the property has it.
func (o settings) proxyAddress() (string, error) {
	address := o.proxy
	if address == fromEnvironment {
		var name string
		if name, address = environmentProxy(); address == "" {
			return "", command.Refuse("--proxy env: none of %s is set", strings.Join(proxyVariables, ", "))
		}
		if os.Getenv("no_proxy") != "" || os.Getenv("NO_PROXY") != "" {
			return "", command.Refuse("--proxy env: no_proxy names hosts without a proxy, which a site cannot have; give the address of %s with --proxy", name)
		}
	}
	address, err := sitespec.ProxyAddress(address)
	if err != nil {
		return "", command.Refuse("--proxy %w; examples: http://proxy.example:3128, socks5://127.0.0.1:1080, env", err)
	}
	return address, nil
}

// usesProxy reports whether the options send requests through a proxy.
func (o settings) usesProxy() bool {
	properties, err := o.propertyMap()
	return err == nil && (properties[sitespec.ProxyProperty] != "" || properties["USER_PROXY"] != "")
}

// noteProxy says that a proxy of the environment is not used, unless the site has one of its own.
func (c *crawl) noteProxy() {
	name, _ := environmentProxy()
	_, fixed := c.site.Property(sitespec.ProxyProperty)
	_, pool := c.site.Property("USER_PROXY")
	if name != "" && !fixed && !pool && !c.o.usesProxy() {
		c.printMessage("requests go directly: %s of the environment is not used; a new site uses it with --proxy env", name)
	}
}

// badSettings returns what cannot be read of the settings of a stored site. The crawler asks for nothing of
// a site with a limit that it cannot read.
func badSettings(site wire.Site) (problems strict.Error) {
	for _, p := range site.Properties {
		if p.URLMd5 == "" {
			problems = append(problems, strict.PropertyValue("property", p.Name, p.Value)...)
		}
	}
	for _, f := range site.Filters {
		if f.State == 1 {
			problems = append(problems, strict.Filter("filter", f)...)
		}
	}
	return problems
}

// checkSettings refuses to crawl a site with such settings.
func (c *crawl) checkSettings() error {
	if problems := badSettings(c.site); len(problems) > 0 {
		return command.Refuse("nothing of site %s would be fetched: %w; set it right with: %s; or remove it with --unset NAME (filters: --include, --exclude)",
			c.site.ID, problems, c.commandHint("site", "edit", c.site.ID, "--property", "NAME=VALUE"))
	}
	return nil
}
