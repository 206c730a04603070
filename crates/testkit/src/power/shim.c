/*
 * Stands before libc in a process under test: fsync and fdatasync keep a copy of what they make
 * durable in the directory FROSTLINE_SHADOW, and reach no disk. A file is kept under the number of
 * its inode; of a directory its entries are kept, as lines of kind, inode and name.
 *
 * The sync of number FROSTLINE_LAST_SYNC kills the process before it has done anything.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void must(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		abort();
	}
}

static void list(int fd, const char *path)
{
	FILE *to = fopen(path, "w");
	must(to != NULL, "fopen");
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY);
	must(again >= 0, "openat");
	DIR *entries = fdopendir(again);
	must(entries != NULL, "fdopendir");
	for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			fprintf(to, "%c %lu %s\n", entry->d_type == DT_DIR ? 'd' : 'f',
				(unsigned long)entry->d_ino, entry->d_name);
	closedir(entries);
	must(fclose(to) == 0, "fclose");
}

/*
 * Makes a copy equal to the file. What is equal already is left alone: that is most of a file, and
 * to write all of it again was most of what a test cost.
 */
static void copy(int fd, off_t len, const char *path)
{
	char name[64], bytes[1 << 16];
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	int from = open(name, O_RDONLY), to = open(path, O_RDWR | O_CREAT, 0600);
	must(from >= 0 && to >= 0, "open");
	must(ftruncate(to, len) == 0, "ftruncate");
	char *copied = len == 0 ? NULL : mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	must(copied != MAP_FAILED, "mmap");
	off_t at = 0;
	while (at < len) {
		size_t most = len - at < (off_t)sizeof bytes ? (size_t)(len - at) : sizeof bytes;
		ssize_t n = read(from, bytes, most);
		must(n >= 0, "read");
		if (n == 0)
			break;
		if (memcmp(copied + at, bytes, n) != 0)
			memcpy(copied + at, bytes, n);
		at += n;
	}
	must(len == 0 || munmap(copied, len) == 0, "munmap");
	/* Another thread may have cut the file. */
	must(ftruncate(to, at) == 0, "ftruncate");
	close(from);
	close(to);
}

static int keep(int fd)
{
	const char *shadow = getenv("FROSTLINE_SHADOW");
	must(shadow != NULL, "FROSTLINE_SHADOW");
	/* A copy begun later must not be replaced by one begun earlier. */
	pthread_mutex_lock(&one_at_a_time);
	static unsigned long syncs;
	const char *last = getenv("FROSTLINE_LAST_SYNC");
	if (last != NULL && ++syncs == strtoul(last, NULL, 10))
		raise(SIGKILL);
	struct stat what;
	int result = fstat(fd, &what);
	if (result == 0) {
		char path[4096], next[4096];
		snprintf(path, sizeof path, "%s/%lu", shadow, (unsigned long)what.st_ino);
		snprintf(next, sizeof next, "%s/%lu.next", shadow, (unsigned long)what.st_ino);
		S_ISDIR(what.st_mode) ? list(fd, next) : copy(fd, what.st_size, next);
		/* The copy before is the one that is made equal next. */
		if (renameat2(AT_FDCWD, next, AT_FDCWD, path, RENAME_EXCHANGE) != 0)
			must(rename(next, path) == 0, "rename");
	}
	pthread_mutex_unlock(&one_at_a_time);
	return result;
}

int fsync(int fd)
{
	return keep(fd);
}

int fdatasync(int fd)
{
	return keep(fd);
}

/* Kept by no copy: what relies on it needs another shim. */
int syncfs(int fd)
{
	(void)fd;
	must(0, "syncfs");
	return -1;
}
