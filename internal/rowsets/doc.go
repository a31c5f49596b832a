// Package rowsets makes files of rows out of others, and changes no row: a sample, parts, one file of several.
//
//	sample  two passes: which of all rows (a reservoir of their numbers), then those, in their order
//	split   one pass: every row goes to the part that its turn, its size, its model or its url says
//	merge   two passes: which rows have an id that came before (package distinct), then all, or all but those
//
// Each holds one row at a time. What is copied are the bytes of a row without white space around them; blank lines are left out.
package rowsets
