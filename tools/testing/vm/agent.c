// SPDX-License-Identifier: MIT
/*
 * Process 1 of a test machine after its set-up: runs commands for the host, one TCP connection each.
 *
 * Request: le32 length, then that many bytes of NUL-terminated words: the command. Answer: frames of a
 * type byte, a le32 length and the bytes: 'o' standard output, 'e' standard error, 'x' the exit status as
 * a decimal number (128 + signal for a killed command), which is the last. When the host closes the
 * connection first, the command's session is killed.
 *
 * A machine without a network to the host has a directory that both see instead. A request is a file
 * PID-TEXT.req there (renamed into place, PID is the host's process that waits for the answer), the answer
 * grows in PID-TEXT.ans. When the process is gone, the command's session is killed.
 *
 *   agent --calibrate [FACTOR]   prints how many times slower than a current machine this one is (1 to 20);
 *                                the kernel is FACTOR times slower still (debug kernels): 100 at most in all
 *   agent PORT                   serves TCP
 *   agent --box DIR HOSTPROC     serves the directory; HOSTPROC is where the host's /proc is seen
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_REQUEST (1u << 20)
#define MAX_WORDS 4096

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A fixed piece of work: about 20 ms on a current machine. */
static int calibrate(double factor)
{
	const double reference_ns = 20e6;
	uint64_t x = 88172645463325252u, start = now_ns();
	volatile uint64_t sink;
	double scale;
	long i;

	for (i = 0; i < 12000000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	sink = x;
	(void)sink;
	scale = (double)(now_ns() - start) / reference_ns;
	if (scale < 1)
		scale = 1;
	if (scale > 20)
		scale = 20;
	scale *= factor;
	if (scale > 100)
		scale = 100;
	printf("%d\n", (int)(scale + 0.999));
	return 0;
}

static int write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int read_all(int fd, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int frame(int fd, char type, const void *buf, uint32_t len)
{
	unsigned char head[5] = { (unsigned char)type, (unsigned char)len, (unsigned char)(len >> 8),
				  (unsigned char)(len >> 16), (unsigned char)(len >> 24) };

	return write_all(fd, head, sizeof(head)) || write_all(fd, buf, len) ? -1 : 0;
}

/* The words of a command of len bytes, NULL if these aren't words. */
static char **split(char *buf, size_t len)
{
	static char *words[MAX_WORDS + 1];
	char *p;
	int n = 0;

	if (!len || buf[len - 1])
		return NULL;
	for (p = buf; p < buf + len && n < MAX_WORDS; p += strlen(p) + 1)
		words[n++] = p;
	words[n] = NULL;
	return words;
}

static char **read_command(int fd)
{
	unsigned char head[4];
	uint32_t len;
	char *buf;

	if (read_all(fd, head, sizeof(head)))
		return NULL;
	len = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
	if (!len || len > MAX_REQUEST)
		return NULL;
	buf = malloc(len);
	if (!buf || read_all(fd, buf, len))
		return NULL;
	return split(buf, len);
}

static pid_t spawn(char **words, int conn, int out[2], int err[2])
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setsid();
	close(conn);
	dup2(open("/dev/null", O_RDONLY), 0);
	dup2(out[1], 1);
	dup2(err[1], 2);
	close(out[0]);
	close(out[1]);
	close(err[0]);
	close(err[1]);
	signal(SIGPIPE, SIG_DFL);
	execvp(words[0], words);
	fprintf(stderr, "agent: %s: %s\n", words[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Forward what fd has; returns false at its end. */
static int forward(int conn, int fd, char type)
{
	static char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 1;
	return n > 0 && !frame(conn, type, buf, (uint32_t)n);
}

/* The connection is closed, or (in a box) the process that asked is no more. */
static int host_gone(const struct pollfd *conn, const char *asker)
{
	char c;

	if (asker)
		return access(asker, F_OK) != 0;
	return conn->revents && read(conn->fd, &c, 1) <= 0;
}

/*
 * Until the command has ended and its output is read, or the host has gone.
 * Returns the wait status, -1 if killed by us.
 */
static int relay(int conn, const char *asker, pid_t pid, int out, int err)
{
	struct pollfd p[3] = { { out, POLLIN, 0 }, { err, POLLIN, 0 }, { asker ? -1 : conn, POLLIN, 0 } };
	int status = -1, ended = 0;

	for (;;) {
		int n = poll(p, 3, ended ? 50 : 100);

		if (host_gone(&p[2], asker)) {
			kill(-pid, SIGKILL);
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			return -1;
		}
		if (p[0].fd >= 0 && p[0].revents && !forward(conn, out, 'o'))
			p[0].fd = -1;
		if (p[1].fd >= 0 && p[1].revents && !forward(conn, err, 'e'))
			p[1].fd = -1;
		/* A daemon may keep the pipes: once the command is gone and they are quiet, it is over. */
		if (ended && (n == 0 || (p[0].fd < 0 && p[1].fd < 0)))
			return status;
		if (!ended && waitpid(pid, &status, WNOHANG) == pid)
			ended = 1;
	}
}

static void serve_one(int conn, char **words, const char *asker)
{
	int out[2], err[2], status, len;
	char text[16];
	pid_t pid;

	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	if (!words)
		words = read_command(conn);
	if (!words || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		_exit(1);
	pid = spawn(words, conn, out, err);
	if (pid < 0)
		_exit(1);
	close(out[1]);
	close(err[1]);
	status = relay(conn, asker, pid, out[0], err[0]);
	if (status >= 0) {
		status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		len = snprintf(text, sizeof(text), "%d", status);
		frame(conn, 'x', text, (uint32_t)len);
	}
	_exit(0);
}

static int serve(int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int one = 1, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (s < 0 || bind(s, (struct sockaddr *)&sa, sizeof(sa)) || listen(s, 64)) {
		perror("agent: listen");
		return 1;
	}
	signal(SIGCHLD, SIG_IGN);	/* children and orphans are reaped by the kernel */
	for (;;) {
		int conn = accept4(s, NULL, NULL, SOCK_CLOEXEC);

		if (conn < 0)
			continue;
		if (fork() == 0)
			serve_one(conn, NULL, NULL);
		close(conn);
	}
}

/* Take the request NAME out of the box and run it; called in a process of its own. */
static void serve_request(const char *box, const char *hostproc, const char *name)
{
	char path[4096], asker[4096], *buf = malloc(MAX_REQUEST);
	size_t stem = strlen(name) - strlen(".req");
	char **words = NULL;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s.now", box, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 && buf ? read(fd, buf, MAX_REQUEST) : -1;
	if (n > 0)
		words = split(buf, (size_t)n);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%.*s.ans", box, (int)stem, name);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0 || !words)
		_exit(1);
	snprintf(asker, sizeof(asker), "%s/%d", hostproc, atoi(name));
	serve_one(fd, words, asker);
}

/* A request is renamed before it is run, so that it runs once. */
static void look(const char *box, const char *hostproc)
{
	char from[4096], to[4096];
	struct dirent *e;
	DIR *d = opendir(box);

	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len < 5 || strcmp(e->d_name + len - 4, ".req"))
			continue;
		snprintf(from, sizeof(from), "%s/%s", box, e->d_name);
		snprintf(to, sizeof(to), "%s/%s.now", box, e->d_name);
		if (!rename(from, to) && !fork())
			serve_request(box, hostproc, e->d_name);
	}
	if (d)
		closedir(d);
}

static void serve_box(const char *box, const char *hostproc)
{
	const struct timespec pause = { .tv_nsec = 20000000 };

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		look(box, hostproc);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	if ((argc == 2 || argc == 3) && !strcmp(argv[1], "--calibrate"))
		return calibrate(argc == 3 ? atof(argv[2]) : 1);
	if (argc == 4 && !strcmp(argv[1], "--box"))
		serve_box(argv[2], argv[3]);
	if (argc == 2 && atoi(argv[1]) > 0)
		return serve(atoi(argv[1]));
	fprintf(stderr, "usage: agent --calibrate [FACTOR] | PORT | --box DIR HOSTPROC\n");
	return 2;
}
