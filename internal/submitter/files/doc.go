// Package files deletes input files at the provider that nothing refers to: what a crash between an upload and the change that names its file
// leaves behind, which costs nothing and would stay for the provider's 30 days.
//
// A delete cancels what runs of a file, so a file goes only when each of these says so:
//
//	its name       it begins with "batchbus.<bus id>." and names one batch: nobody else's file, and no other bus'
//	its age        older than Age: an upload whose change is still to come, or a list that lags, is younger than that
//	its batch      has no state; or one that names another file, and that no upload or fence can follow any more
//	the provider   no batch in its whole list, searched by the bus id, was made of the file, whoever made it
//	its batch      once more, right before the delete
//
// The lists are read page by page, and what may go is gathered in bounded parts, so memory does not grow with either list. A part is judged
// by a list of batches that was read after it was gathered. A list that cannot be trusted to be whole ends the sweep before anything that it
// should have judged is deleted.
//
// Any number of processes may sweep at once: a delete that comes second is answered 404 and means nothing.
package files
