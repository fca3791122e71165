// SPDX-License-Identifier: MIT
/*
 * The cables between User-Mode Linux nodes. Each end is a socket (SOCK_SEQPACKET) that a node's card holds the other
 * side of; what one end sends, all other ends of that cable receive. Packets for an end that is cut, that is not
 * connected or that doesn't read fast enough are lost, as on a network.
 *
 *	cable DIR LINKS NODES SECONDS    serves DIR/netNODE-LINK.sock until killed, SECONDS at most
 *
 * Each message to DIR/cable.sock (SOCK_SEQPACKET too) is "LINK NODE 0|1": cut or restore that end. The answer, "ok",
 * comes when it is done. A connection is never closed from here: a card whose peer is gone would read end of file
 * for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_LINKS 4
#define MAX_NODES 16
#define MAX_PACKET 65536
#define MAX_BURST 64	/* packets of one end before the others have their turn */
#define QUEUE (2 << 20)

struct end {
	int listener, fd;
	bool cut;
};

static struct end ends[MAX_LINKS][MAX_NODES];
static int links, nodes, control = -1, admin = -1;

static int listen_at(const char *dir, const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", dir, name) >= (int)sizeof(a.sun_path)) {
		fprintf(stderr, "cable: %s/%s: the path is too long for a socket\n", dir, name);
		exit(1);
	}
	unlink(a.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 4)) {
		perror(a.sun_path);
		exit(1);
	}
	return fd;
}

/* A new connection takes the place of an older one: the node was killed and booted again. */
static void take(int listener, int *fd)
{
	int new = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), size = QUEUE;

	if (new < 0)
		return;
	setsockopt(new, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (*fd >= 0)
		close(*fd);
	*fd = new;
}

static void forget(int *fd)
{
	close(*fd);
	*fd = -1;
}

static void forward(int link, int node)
{
	static char packet[MAX_PACKET];
	struct end *from = &ends[link][node];
	int i, n;

	for (i = 0; i < MAX_BURST; i++) {
		ssize_t len = recv(from->fd, packet, sizeof(packet), 0);

		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (len <= 0) {
			forget(&from->fd);
			return;
		}
		if (from->cut)
			continue;
		for (n = 0; n < nodes; n++) {
			struct end *to = &ends[link][n];

			if (n != node && !to->cut && to->fd >= 0)
				(void)!send(to->fd, packet, (size_t)len, MSG_NOSIGNAL);
		}
	}
}

static void obey(void)
{
	char text[64];
	int link, node, up;
	ssize_t len = recv(admin, text, sizeof(text) - 1, 0);

	if (len <= 0) {
		if (len == 0 || (errno != EAGAIN && errno != EINTR))
			forget(&admin);
		return;
	}
	text[len] = 0;
	if (sscanf(text, "%d %d %d", &link, &node, &up) != 3 || link < 0 || link >= links || node < 1 || node > nodes) {
		(void)!send(admin, "what?", 5, MSG_NOSIGNAL);
		return;
	}
	ends[link][node - 1].cut = !up;
	(void)!send(admin, "ok", 2, MSG_NOSIGNAL);
}

static void serve(void)
{
	struct pollfd p[2 + 2 * MAX_LINKS * MAX_NODES];
	int n = 0, l, i;

	p[n++] = (struct pollfd){ .fd = control, .events = POLLIN };
	p[n++] = (struct pollfd){ .fd = admin, .events = POLLIN };
	for (l = 0; l < links; l++) {
		for (i = 0; i < nodes; i++) {
			p[n++] = (struct pollfd){ .fd = ends[l][i].listener, .events = POLLIN };
			p[n++] = (struct pollfd){ .fd = ends[l][i].fd, .events = POLLIN };
		}
	}
	if (poll(p, (nfds_t)n, -1) < 0)
		return;
	if (p[1].revents)
		obey();
	if (p[0].revents)
		take(control, &admin);
	for (n = 2, l = 0; l < links; l++) {
		for (i = 0; i < nodes; i++, n += 2) {
			if (p[n + 1].revents)
				forward(l, i);
			if (p[n].revents)
				take(ends[l][i].listener, &ends[l][i].fd);
		}
	}
}

int main(int argc, char **argv)
{
	char name[32];
	int l, i;

	links = argc == 5 ? atoi(argv[2]) : 0;
	nodes = argc == 5 ? atoi(argv[3]) : 0;
	if (links < 1 || links > MAX_LINKS || nodes < 1 || nodes > MAX_NODES) {
		fprintf(stderr, "usage: cable DIR LINKS NODES SECONDS\n");
		return 2;
	}
	for (l = 0; l < links; l++) {
		for (i = 0; i < nodes; i++) {
			snprintf(name, sizeof(name), "net%d-%d.sock", i + 1, l);
			ends[l][i] = (struct end){ .listener = listen_at(argv[1], name), .fd = -1 };
		}
	}
	control = listen_at(argv[1], "cable.sock");
	alarm((unsigned int)atoi(argv[4]));
	for (;;)
		serve();
}
