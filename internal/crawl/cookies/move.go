package cookies

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Kept is a cookie in the folder of Jars, as another machine takes it over. Domain and HostOnly of the
// cookie say which hosts it is for.
type Kept struct {
	Site   string `json:"site"`
	Cookie cookie `json:"cookie"`
}

// maxKept bounds what All returns, in bytes of cookies.
const maxKept = 16 << 20

// All returns the cookies of all sites in the files of the folder, sites in the order of their names. left
// is the number of cookies above 16 MiB, which it leaves out.
func (js *Jars) All() (list []Kept, left int, err error) {
	list = []Kept{}
	entries, err := os.ReadDir(js.dir)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return list, 0, err
	}
	bytes := 0
	for _, e := range entries {
		site, isJar := strings.CutSuffix(e.Name(), ".json")
		if !isJar || !e.Type().IsRegular() {
			continue
		}
		var f jarFile
		if err := js.files.Read(js.path(site), &f); err != nil {
			return list, left, fmt.Errorf("read cookies of site %q: %w", site, err)
		}
		for _, c := range f.Cookies {
			switch bytes += c.size() + 200; {
			case !c.valid(js.now()):
			case bytes > maxKept:
				left++
			default:
				list = append(list, Kept{site, c})
			}
		}
	}
	return list, left, nil
}

// Take merges cookies of another machine into the files of their sites. A cookie that was set later stays. It
// may be repeated.
func (js *Jars) Take(ctx context.Context, list []Kept) error {
	bySite := map[string][]cookie{}
	var sites []string
	for _, k := range list {
		if bySite[k.Site] == nil {
			sites = append(sites, k.Site)
		}
		if k.Cookie.valid(js.now()) {
			bySite[k.Site] = append(bySite[k.Site], k.Cookie)
		}
	}
	slices.Sort(sites)
	for _, site := range slices.Compact(sites) {
		if err := js.merge(ctx, site, bySite[site], &jarFile{}); err != nil {
			return fmt.Errorf("take cookies of site %q: %w", site, err)
		}
	}
	return nil
}
