// Package config reads ini files into checked values.
//
// Each value has one default and one range, written where it is read; a value
// out of range is an error that names file, section, key, value and range. Keys
// that nobody asked for are reported with the nearest known name.
//
//	f, err := config.Load(path)
//	app := f.Section("Application")
//	dir := app.Path("data_dir", "../data")
//	wait := app.Duration("timeout", time.Millisecond, 90*time.Second, 0, time.Hour)
//	if err := f.Err(); err != nil { ... }
//
// A value is taken from the environment variable DC_<section>_<key> when that is
// set, else from the file, else from the default. An empty value counts as not
// set. Relative paths are relative to the folder of the ini file.
//
// [File.WriteEffective] tells what every key is worth and where that comes from.
// What a setting does is not known here.
package config
