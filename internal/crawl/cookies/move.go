package cookies

import (
	"context"
	"errors"
	"os"
	"strings"

	"hce/dc/internal/wire"
)

// Kept is a cookie in the folder of Jars, as another machine takes it over. Domain and HostOnly of the
// cookie say which hosts it is for.
type Kept struct {
	Site   string `json:"site"`
	Cookie cookie `json:"cookie"`
}

// maxKept bounds what All returns, in bytes of cookies.
const maxKept = 16 << 20

// All returns the cookies of all sites in the files of the folder, sites in the order of their names. It reads
// a file once, as Site does. left is the number of cookies above 16 MiB, which it leaves out.
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
		if !isJar {
			continue
		}
		for _, c := range js.Site(site).fileContent(js.now()).Cookies {
			if bytes += c.size() + 200; bytes > maxKept {
				left++
				continue
			}
			list = append(list, Kept{site, c})
		}
	}
	return list, left, nil
}

// Take merges cookies of another machine into the files of their sites. A cookie that was set later stays. It
// may be repeated.
func (js *Jars) Take(ctx context.Context, list []Kept) error {
	for _, same := range wire.Groups(list, func(k Kept) string { return k.Site }) {
		var f jarFile
		for _, k := range same {
			f.Cookies = append(f.Cookies, k.Cookie)
		}
		j := js.Site(same[0].Site)
		j.mergeFile(f, js.now())
		j.markChanged(f.Cookies)
	}
	return js.Save(ctx)
}
