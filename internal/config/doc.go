// Package config reads ini files into checked values.
//
//	f, err := config.Load(path)
//	app := f.Section("Application")
//	dir := app.Path("data_dir", "../data")
//	wait := app.Duration("timeout", time.Millisecond, 90*time.Second, 0, time.Hour)
//	if err := f.Err(); err != nil { ... }
//
// A value comes from the environment variable DC_<section>_<key>, from the file, or from
// the default, in this order. An empty value counts as not set. Relative paths start from
// the folder of the ini file.
//
// The program gives the default and the range of a value where it reads it. An error names
// file, section, key, value and range. [File.Unknown] lists the keys that the program did
// not read, with the nearest known name. [File.WriteEffective] writes all values and where
// they come from. What may not live here: defaults and rules of a single program.
package config
