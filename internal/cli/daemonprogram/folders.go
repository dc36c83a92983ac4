package daemonprogram

import (
	"os"
	"path/filepath"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/status"
)

// listFolders lists what the daemon and its programs write, for /readyz. The stores are those of the
// ini file that db-task gets; without a readable one they are left out.
func listFolders(app config.Application, cfg daemon.Config) []status.Folder {
	list := []status.Folder{
		{Name: "spool_dir", Path: cfg.Executor.Dir},
		{Name: "the temporary folder", Path: os.TempDir()},
	}
	if app.Log.File != "" {
		list = append(list, status.Folder{Name: "the log folder", Path: filepath.Dir(app.Log.File)})
	}
	if cfg.Cluster != nil {
		return append(list, status.Folder{Name: "the folder of the cluster", Path: cfg.Cluster.Folder, Grows: true})
	}
	f, err := config.Load(iniOf(cfg.Sites.DBTask))
	if err != nil {
		return list
	}
	s := f.Section("TasksManager")
	list = append(list,
		status.Folder{Name: "raw_data_dir", Path: s.PathIn(app.DataDir, "raw_data_dir", "dc_rdata"), Grows: true},
		status.Folder{Name: "key_value_storage_dir", Path: s.PathIn(app.DataDir, "key_value_storage_dir", "dc_dbdata"), Grows: true})
	if s.Text("db_driver", "sqlite") == "sqlite" {
		list = append(list, status.Folder{Name: "db_path", Path: filepath.Dir(s.PathIn(app.DataDir, "db_path", "dc.db")), Grows: true})
	}
	return list
}

// iniOf returns the ini file among the arguments of a task program, or the default one.
func iniOf(p executor.Stage) string {
	name := "db-task.ini"
	for i, arg := range p.Args[:max(0, len(p.Args)-1)] {
		if arg == "-c" || arg == "--config" {
			name = p.Args[i+1]
		}
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, name)
}
