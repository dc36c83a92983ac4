package hce

import (
	"cmp"
	"os"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/siteoptions"
	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/wire"
)

// prepareSite finds or creates the site.
func (c *crawl) prepareSite() error {
	if len(c.o.words) == 1 {
		site, found, err := c.SiteStatus(c.o.words[0])
		if err != nil {
			return err
		}
		if found {
			c.site = site
			return c.checkNetworks()
		}
	}
	roots, err := c.resolveRoots()
	if err != nil {
		return err
	}
	object, err := c.o.NewSite(roots)
	if err != nil {
		return err
	}
	if err := c.checkBrowser(); err != nil {
		return err
	}
	site, found, err := c.SiteStatus(object["id"].(string))
	if err != nil {
		return err
	}
	if c.site = site; !found {
		return c.createSite(object, roots)
	}
	if list := c.o.ListDifferences(site, object); len(list) > 0 {
		return command.Refuse("site %s exists with other settings: %s. Continue it as it is with: %s; change it with: %s; delete it with: %s; or use another id with --name",
			site.ID, strings.Join(list, "; "), c.CommandHint("crawl", site.ID), c.CommandHint("site", "edit", site.ID), c.CommandHint("site", "rm", site.ID))
	}
	return c.checkNetworks()
}

// createSite sends SITE_NEW.
func (c *crawl) createSite(object map[string]any, roots []string) error {
	for _, root := range roots {
		c.site.URLs = append(c.site.URLs, wire.SiteURL{URL: wire.URL{URL: root}})
	}
	c.site.ID = object["id"].(string)
	if err := c.checkNetworks(); err != nil {
		return err
	}
	return c.AskService(wire.SiteNew, object, nil)
}

// resolveRoots reads the URLs. For those without a scheme it looks which one the host speaks.
func (c *crawl) resolveRoots() (roots []string, err error) {
	known := map[string]bool{}
	for _, word := range c.o.words {
		u, err := target.Parse(word)
		if err != nil {
			return nil, command.Refusal{Err: err}
		}
		if u.Guessed {
			if u, err = c.chooseScheme(u); err != nil {
				return nil, err
			}
		}
		if known[u.Text] {
			return nil, command.Refuse("URL %s is given twice", u.Text)
		}
		known[u.Text] = true
		roots = append(roots, u.Text)
	}
	return roots, nil
}

// chooseScheme chooses the scheme: that of a known site, else https if the host speaks it.
func (c *crawl) chooseScheme(u target.URL) (target.URL, error) {
	for _, known := range []target.URL{u, u.HTTP()} {
		if _, found, err := c.SiteStatus(cmp.Or(c.o.Name, wire.Md5(known.Text)), "urls", "filters", "properties"); err != nil {
			return u, err
		} else if found && c.o.Name == "" {
			return known, nil
		}
	}
	road := node.Road{Networks: cmp.Or(c.o.Networks, os.Getenv(networksVariable)), Proxied: c.o.UsesProxy(), Remote: c.Node == nil}
	chosen, err := node.ChooseScheme(c.Ctx, u, road, c.PrintMessage)
	if err != nil && c.Ctx.Err() == nil {
		err = command.Refusal{Err: err}
	}
	return chosen, err
}

// networksVariable overrides AllowedNetworks of crawler-task.ini.
const networksVariable = "DC_CrawlerTask_AllowedNetworks"

// checkNetworks refuses root URLs that the egress guard will not let pass.
func (c *crawl) checkNetworks() error {
	if c.Node == nil {
		if c.o.Networks != "" {
			return command.Refuse("--allow-network is for a crawl without a running daemon; set AllowedNetworks in crawler-task.ini of %s", c.Service)
		}
		return nil
	}
	if c.o.Networks != "" || os.Getenv(networksVariable) != "" {
		return nil
	}
	for _, u := range c.site.URLs {
		if target.Private(u.URL.URL) {
			return command.Refuse("%s is not public, and the crawler connects to public addresses only; if you mean it, add --allow-network 127.0.0.0/8 (or its network)", u.URL.URL)
		}
	}
	return nil
}

// checkBrowser refuses --browser without a Chromium on this machine.
func (c *crawl) checkBrowser() error {
	if !c.o.Browser || c.Node == nil || node.Browser() != "" {
		return nil
	}
	return command.Refuse("--browser needs Chromium; install it, or set path of [Browser] in %s/ini/crawler-task.ini", c.Node.Dir)
}

// noteProxy says that a proxy of the environment is not used, unless the site has one of its own.
func (c *crawl) noteProxy() {
	name, _ := siteoptions.EnvironmentProxy()
	_, fixed := c.site.Property(sitespec.ProxyProperty)
	_, pool := c.site.Property("USER_PROXY")
	if name != "" && !fixed && !pool && !c.o.UsesProxy() {
		c.PrintMessage("requests go directly: %s of the environment is not used; a new site uses it with --proxy env", name)
	}
}

// checkSettings refuses to crawl a site with such settings.
func (c *crawl) checkSettings() error {
	if problems := siteoptions.BadSettings(c.site); len(problems) > 0 {
		return command.Refuse("nothing of site %s would be fetched: %w; set it right with: %s; or remove it with --unset NAME (filters: --include, --exclude)",
			c.site.ID, problems, c.CommandHint("site", "edit", c.site.ID, "--property", "NAME=VALUE"))
	}
	return nil
}
