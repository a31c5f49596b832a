// Package rowfile is where rows of files come from and go to: which files a command line means, how they are opened, and how a new one is written.
//
//	FILE   a file               itself
//	       a folder             the *.jsonl, *.ndjson, *.jsonl.gz and *.ndjson.gz below it, in the order of their paths
//	       a pattern            what it matches, when no file is called like it: for shells that do not expand, and for lists too long for one
//	       -                    standard input, once
//
// In a folder, and among what a pattern matches, names that begin with a dot are left out, and so are output.jsonl and errors.jsonl: those are
// answers. A command that took them for rows the second time it is run would make another job of it, and pay every row again.
//
// A file is known to be compressed by its first bytes and not by its name: no row begins like that. What is read is the same either way, so the
// same rows make the same job.
//
// A new file is written beside its place under a name that begins with a dot, and takes its own name when it is whole: whoever reads it never sees
// a half. That also keeps a command from writing into what it reads.
package rowfile
