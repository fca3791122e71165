// SPDX-License-Identifier: MIT
/*
 * Process 1 of a test machine after its set-up: runs commands for the host, one TCP connection each.
 *
 * Request: le32 length, then that many bytes of NUL-terminated words: the command. Answer: frames of a
 * type byte, a le32 length and the bytes: 'o' standard output, 'e' standard error, 'x' the exit status as
 * a decimal number (128 + signal for a killed command), which is the last. When the host closes the
 * connection first, the command's session is killed.
 *
 *   agent --calibrate       prints how many times slower than a current machine this one is (1 to 20)
 *   agent PORT              serves
 */
#include <arpa/inet.h>
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
static int calibrate(void)
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

static char **read_command(int fd)
{
	static char *words[MAX_WORDS + 1];
	unsigned char head[4];
	uint32_t len;
	char *buf, *p;
	int n = 0;

	if (read_all(fd, head, sizeof(head)))
		return NULL;
	len = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
	if (!len || len > MAX_REQUEST)
		return NULL;
	buf = malloc(len);
	if (!buf || read_all(fd, buf, len) || buf[len - 1])
		return NULL;
	for (p = buf; p < buf + len && n < MAX_WORDS; p += strlen(p) + 1)
		words[n++] = p;
	words[n] = NULL;
	return n ? words : NULL;
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

/*
 * Until the command has ended and its output is read, or the host has gone.
 * Returns the wait status, -1 if killed by us.
 */
static int relay(int conn, pid_t pid, int out, int err)
{
	struct pollfd p[3] = { { out, POLLIN, 0 }, { err, POLLIN, 0 }, { conn, POLLIN, 0 } };
	int status = -1, ended = 0;
	char c;

	for (;;) {
		int n = poll(p, 3, ended ? 50 : 100);

		if (p[2].revents && read(conn, &c, 1) <= 0) {
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

static void serve_one(int conn)
{
	int out[2], err[2], status, len;
	char text[16];
	char **words;
	pid_t pid;

	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	words = read_command(conn);
	if (!words || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		_exit(1);
	pid = spawn(words, conn, out, err);
	if (pid < 0)
		_exit(1);
	close(out[1]);
	close(err[1]);
	status = relay(conn, pid, out[0], err[0]);
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
			serve_one(conn);
		close(conn);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--calibrate"))
		return calibrate();
	if (argc == 2 && atoi(argv[1]) > 0)
		return serve(atoi(argv[1]));
	fprintf(stderr, "usage: agent --calibrate | PORT\n");
	return 2;
}
