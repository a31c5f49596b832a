// Package keep deletes: what has been kept long enough, by itself ([Keeper]), and a job's contents, when somebody asks ([Forget]). Nothing
// else in batchbus deletes anything.
//
//	job completed ──keep_rows_seconds──► its blocks are purged from ROWS, up to walked and no further
//	object stored ──a day──► deleted, unless a message at its subject, or the batch that it is the manifest of, names it
//	chunks without an object ──a day──► deleted: whoever stored or deleted it has died over it
//
// Up to walked every row has its answer or its dead letter stored, so nothing depends on a block there (design.md 5.3). Before a purge the
// block at walked must be the one that the job's state means: a bus restored from a backup can have another there, and then nothing is
// purged.
//
// The state of a job stays: a name that was used is not used again by mistake, and rows that come late are known for what they are. Results,
// dead letters and events go by the age limits of their streams.
package keep
