package daemonprogram

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon/status"
	"hce/dc/internal/storage"
)

// /readyz looks at the folders of the ini file that db-task gets, with the defaults of the stores.
func TestFoldersOfReadiness(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"[TasksManager]\n", "[TasksManager]\nraw_data_dir=/r\nkey_value_storage_dir=k\ndb_path=d/x.db\n", "[TasksManager]\ndb_driver=mysql\n"} {
		if err := os.WriteFile(filepath.Join(dir, "stores.ini"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, f := read(t, "[Application]\nlog=log/x.log\n[SitesManager]\nDRCEDBAppName=db-task -c stores.ini\n")
		cfg.Sites.DBTask.Dir = dir
		app := f.Application("dc-daemon", "stderr")
		app.DataDir = "/data"
		stores, err := config.Load(filepath.Join(dir, "stores.ini"))
		if err != nil {
			t.Fatal(err)
		}
		want := storage.ReadConfig(stores, app.DataDir)
		got := map[string]status.Folder{}
		for _, folder := range listFolders(app, cfg) {
			got[folder.Name] = folder
		}
		paths := []string{got["raw_data_dir"].Path, got["key_value_storage_dir"].Path, got["db_path"].Path, got["spool_dir"].Path, got["the temporary folder"].Path}
		database := filepath.Dir(want.DB.Path)
		if want.DB.Driver == "mysql" {
			database = ""
		}
		if !slices.Equal(paths, []string{want.RawDir, want.KeyDir, database, "/data/env", os.TempDir()}) || got["the log folder"].Path == "" {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
