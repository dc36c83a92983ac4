package siteoptions

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

// EnvironmentProxy returns the first proxy of the environment and the name of its variable.
func EnvironmentProxy() (name, address string) {
	for _, name := range proxyVariables {
		if address := strings.TrimSpace(os.Getenv(name)); address != "" {
			return name, address
		}
	}
	return "", ""
}

// proxyAddress returns the address of --proxy, as the property has it.
func (o Settings) proxyAddress() (string, error) {
	address := o.proxy
	if address == fromEnvironment {
		var name string
		if name, address = EnvironmentProxy(); address == "" {
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

// UsesProxy reports whether the options send requests through a proxy.
func (o Settings) UsesProxy() bool {
	properties, err := o.PropertyMap()
	return err == nil && (properties[sitespec.ProxyProperty] != "" || properties["USER_PROXY"] != "")
}

// BadSettings returns what cannot be read of the settings of a stored site. The crawler asks for nothing of
// a site with a limit that it cannot read.
func BadSettings(site wire.Site) (problems strict.Error) {
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
