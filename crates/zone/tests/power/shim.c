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

static void list(int fd, FILE *to)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY);
	must(again >= 0, "openat");
	DIR *entries = fdopendir(again);
	must(entries != NULL, "fdopendir");
	for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			fprintf(to, "%c %lu %s\n", entry->d_type == DT_DIR ? 'd' : 'f',
				(unsigned long)entry->d_ino, entry->d_name);
	closedir(entries);
}

static void copy(int fd, FILE *to)
{
	char path[64], bytes[1 << 16];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int again = open(path, O_RDONLY);
	must(again >= 0, "open");
	for (ssize_t n; (n = read(again, bytes, sizeof bytes)) != 0;) {
		must(n > 0, "read");
		must(fwrite(bytes, 1, n, to) == (size_t)n, "fwrite");
	}
	close(again);
}

static int keep(int fd)
{
	struct stat what;
	if (fstat(fd, &what) != 0)
		return -1;
	const char *shadow = getenv("FROSTLINE_SHADOW");
	must(shadow != NULL, "FROSTLINE_SHADOW");
	char path[4096], unfinished[4096];
	snprintf(path, sizeof path, "%s/%lu", shadow, (unsigned long)what.st_ino);
	snprintf(unfinished, sizeof unfinished, "%s/unfinished", shadow);
	/* A copy begun later must not be replaced by one begun earlier. */
	pthread_mutex_lock(&one_at_a_time);
	static unsigned long syncs;
	const char *last = getenv("FROSTLINE_LAST_SYNC");
	if (last != NULL && ++syncs == strtoul(last, NULL, 10))
		raise(SIGKILL);
	FILE *to = fopen(unfinished, "w");
	must(to != NULL, "fopen");
	S_ISDIR(what.st_mode) ? list(fd, to) : copy(fd, to);
	must(fclose(to) == 0, "fclose");
	must(rename(unfinished, path) == 0, "rename");
	pthread_mutex_unlock(&one_at_a_time);
	return 0;
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
