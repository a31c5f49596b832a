// Package prepare turns files of rows, as people have them, into plain JSONL: one row a line, UTF-8, nothing else. It reads as a stream, holds one
// row at a time, and copies every byte of a row that it was not asked to change.
//
//	bytes ── gunzip ── UTF-16, UTF-32 to UTF-8 ── rows ─┬─ one on its line          as it is
//	        (rowfile)                                   ├─ one over several lines   without the white space between its tokens
//	                                                    ├─ several on one line      one a line
//	                                                    └─ elements of an array     likewise
//	                                    row ── model, set, drop, ids, images ── judged by package rows ── line, or finding
//
// What counts as a row is decided by the text alone, and only where there is one way to read it: an object over several lines is gathered by
// package rows, which never takes a good row for a piece of its neighbour; a line of several objects is cut only when all of it is objects. A file
// that begins with a bracket is an array. When one of its elements is broken, reading goes on at the next line that begins an object and names a
// custom_id, or stands as far in as the first element.
//
// # Places
//
// A finding names the line of the file and the byte column in it, also inside an object over several lines. After an edit that moved the fault, the
// column is left out. In UTF-16 columns count bytes of the UTF-8 that it became.
//
// # Images
//
// A path in an image member of a chat or responses body becomes a data URL. It is looked up from the folder of the rows' file, and must be a
// regular file that holds an image by its own first bytes: rows come from others, and what they name is sent away. With a folder set, nothing
// outside it is read, by any name or link ([os.Root]).
package prepare
