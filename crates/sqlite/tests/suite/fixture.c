/*
 * For SQLite's test suite, whose scripts look at databases as files: it makes the VFS `frostline` the default one, and gives Tcl
 * a command for its files.
 *
 *   stored exists|size|delete NAME
 *   stored read NAME            all bytes
 *   stored write NAME BYTES     these are all bytes of it from then on
 *   stored hold NAME            opens it for good, so that its store stays open
 *   stored default -            databases are in the VFS unless they name another
 *
 * One library is both an extension of SQLite, which is given SQLite's functions, and a package of Tcl.
 */
#include <sqlite3ext.h>
#include <stdlib.h>
#include <string.h>
#include <tcl.h>

SQLITE_EXTENSION_INIT1

int sqlite3_fixture_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	(void)db;
	(void)error;
	SQLITE_EXTENSION_INIT2(api);
	return SQLITE_OK_LOAD_PERMANENTLY;
}

static int ends(const char *name, const char *end)
{
	size_t length = strlen(name), of_end = strlen(end);
	return length >= of_end && strcmp(name + length - of_end, end) == 0;
}

static int kind(const char *name)
{
	if (ends(name, "-journal"))
		return SQLITE_OPEN_MAIN_JOURNAL;
	return ends(name, "-wal") ? SQLITE_OPEN_WAL : SQLITE_OPEN_MAIN_DB;
}

static int command(ClientData data, Tcl_Interp *tcl, int count, Tcl_Obj *const words[])
{
	static const char *const actions[] = { "exists", "size", "delete", "read", "write", "hold", "default", NULL };
	enum { EXISTS, SIZE, DELETE, READ, WRITE, HOLD, DEFAULT } action;
	int index, result, there = 0, flags, bytes;
	char full[2048];
	(void)data;
	if (count < 3 || Tcl_GetIndexFromObj(tcl, words[1], actions, "action", 0, &index) != TCL_OK)
		return TCL_ERROR;
	action = index;
	if (action == DEFAULT) {
		sqlite3_vfs_register(sqlite3_vfs_find("frostline"), 1);
		return TCL_OK;
	}
	sqlite3_vfs *vfs = sqlite3_vfs_find("frostline");
	const char *name = Tcl_GetString(words[2]);
	const char *given = sqlite3_create_filename(name, "", "", 0, NULL);
	result = vfs->xFullPathname(vfs, given, sizeof full, full);
	sqlite3_free_filename((char *)given);
	if (result != SQLITE_OK)
		goto failed;
	if (action == DELETE) {
		/* A store is found by a delete only while it is open. */
		result = vfs->xDelete(vfs, full, 0);
		if (result == SQLITE_IOERR_DELETE_NOENT)
			result = SQLITE_OK;
		if (result != SQLITE_OK)
			goto failed;
		return TCL_OK;
	}
	flags = kind(name) | SQLITE_OPEN_READWRITE;
	if (action == WRITE || action == HOLD)
		flags |= SQLITE_OPEN_CREATE;
	if (flags & SQLITE_OPEN_MAIN_JOURNAL && action != WRITE) {
		/* To open a journal makes it. */
		vfs->xAccess(vfs, full, SQLITE_ACCESS_EXISTS, &there);
		if (!there) {
			result = SQLITE_CANTOPEN;
			goto absent;
		}
	}
	const char *of = sqlite3_create_filename(full, "", "", 0, NULL);
	sqlite3_file *file = calloc(1, vfs->szOsFile);
	result = vfs->xOpen(vfs, of, file, flags, &flags);
	sqlite3_int64 size = 0;
	if (result != SQLITE_OK) {
		sqlite3_free_filename((char *)of);
		free(file);
		goto absent;
	}
	if (action == HOLD)
		return TCL_OK;
	result = file->pMethods->xFileSize(file, &size);
	if (action == EXISTS)
		Tcl_SetObjResult(tcl, Tcl_NewBooleanObj(1));
	if (action == SIZE)
		Tcl_SetObjResult(tcl, Tcl_NewWideIntObj(size));
	if (action == READ) {
		Tcl_Obj *read = Tcl_NewByteArrayObj(NULL, 0);
		result = file->pMethods->xRead(file, Tcl_SetByteArrayLength(read, size), size, 0);
		Tcl_SetObjResult(tcl, read);
	}
	if (action == WRITE && count > 3) {
		const unsigned char *from = Tcl_GetByteArrayFromObj(words[3], &bytes);
		result = file->pMethods->xTruncate(file, bytes);
		if (result == SQLITE_OK && bytes > 0)
			result = file->pMethods->xWrite(file, from, bytes, 0);
		if (result == SQLITE_OK)
			result = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
	}
	file->pMethods->xClose(file);
	free(file);
	sqlite3_free_filename((char *)of);
	if (result == SQLITE_OK)
		return TCL_OK;
failed:
	Tcl_SetObjResult(tcl, Tcl_ObjPrintf("%s: result %d", name, result));
	return TCL_ERROR;
absent:
	if (action == EXISTS) {
		Tcl_SetObjResult(tcl, Tcl_NewBooleanObj(0));
		return TCL_OK;
	}
	goto failed;
}

int Fixture_Init(Tcl_Interp *tcl)
{
	Tcl_CreateObjCommand(tcl, "stored", command, NULL, NULL);
	return TCL_OK;
}
