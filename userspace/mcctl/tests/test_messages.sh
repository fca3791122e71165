#!/bin/bash
# SPDX-License-Identifier: MIT
# mcctl's and mcnoded's words and exit statuses where no kernel part is needed. TAP.
# shellcheck disable=SC2016 # single quotes in expected messages
set -u
top=$(readlink -f "$(dirname "$0")/../../..")
bin=${MC_USER:-${MC_B:-$top/build}/user}/bin
tmp=$(mktemp -d)
pids=()
cleanup() {
	local p
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null; done
	rm -rf "$tmp"
}
trap cleanup EXIT
unset MC_MASTER MC_TENANT
n=0
failed=0

# A claim: its name, then what must be true. What was seen is printed when it is not.
ok() {
	local name=$1
	n=$((n + 1))
	shift
	if "$@"; then
		echo "ok $n - $name"
	else
		failed=1
		echo "not ok $n - $name"
		echo "# status $status, stdout $(wc -c < "$tmp/out") bytes, stderr: $(head -c 600 "$tmp/err")"
	fi
}

# Run a command; nothing in here may take longer than a few seconds.
run() {
	status=0
	timeout 20 "$@" > "$tmp/out" 2> "$tmp/err" < /dev/null || status=$?
}
ctl() { run "$bin/mcctl" "$@"; }
as_nobody() { run setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# An error: this status, nothing on standard output, one line with these words.
is_error() {
	local want=$1 word
	shift
	[ "$status" -eq "$want" ] && [ ! -s "$tmp/out" ] && [ "$(wc -l < "$tmp/err")" -eq 1 ] || return 1
	for word in "$@"; do
		grep -qF -- "$word" "$tmp/err" || return 1
	done
}
is_fine() { [ "$status" -eq 0 ] && [ ! -s "$tmp/err" ]; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
wait_port() { # address port
	for _ in $(seq 100); do
		python3 -c 'import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 1)' "$1" "$2" \
			2> /dev/null && return 0
		sleep 0.05
	done
	return 1
}

port=$(free_port)
"$bin/mcmasterd" --listen "127.0.0.1:$port" --listen "[::1]:$port" > "$tmp/master.log" 2>&1 &
pids+=($!)
status=0 && : > "$tmp/out" && cp "$tmp/master.log" "$tmp/err"
ok "mcmasterd answers" wait_port 127.0.0.1 "$port"
m=127.0.0.1:$port

# ---- C-93 ----

closed=$(free_port)
ctl --master "127.0.0.1:$closed" object stat k
ok "C-93 master down" is_error 5 "127.0.0.1:$closed" "refused"
cp "$tmp/err" "$tmp/e1"

wrong=$(free_port)
python3 -c '
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen(8)
while True:
    c, _ = s.accept()
    c.sendall(b"220 mail.example ESMTP\r\n")
    c.recv(100)
' "$wrong" 2> /dev/null &
pids+=($!)
wait_port 127.0.0.1 "$wrong"
ctl --master "127.0.0.1:$wrong" --timeout 3s object stat k
ok "C-93 wrong port: something else answers" is_error 5 "127.0.0.1:$wrong"
cp "$tmp/err" "$tmp/e2"

ctl --master no-such-host.invalid object stat k
ok "C-93 DNS fails" is_error 5 "no-such-host.invalid"
cp "$tmp/err" "$tmp/e3"

ctl --master "$m" object stat "$(printf 'x%.0s' $(seq 4097))"
ok "C-93 key too long" is_error 2 "INVALID_KEY" "4097" "4096"
cp "$tmp/err" "$tmp/e4"

truncate -s $((1024 * 1024 * 1024 * 1024 + 1)) "$tmp/huge"
ctl --master "$m" object put k "$tmp/huge"
ok "C-93 value too long" is_error 2 "$tmp/huge" "1099511627777" "1099511627776"
cp "$tmp/err" "$tmp/e5"

"$bin/mcctl" key generate "$tmp/key" > /dev/null
chmod 0644 "$tmp/key"
ctl key load "$tmp/key"
ok "C-93 no permission: a key that others can read" is_error 6 "$tmp/key" "0644"
cp "$tmp/err" "$tmp/e6"

if [ -e /sys/module/mooncake ]; then
	echo "ok $((n += 1)) - C-93 module not loaded # SKIP the module is loaded here"
	echo "module" > "$tmp/e7"
else
	ctl rail list
	ok "C-93 module not loaded" is_error 7 "module mooncake is not loaded" "modprobe"
	cp "$tmp/err" "$tmp/e7"
	for verb in event stat "top --once" "--json top --interval 50ms"; do
		# shellcheck disable=SC2086 # several words
		ctl $verb
		ok "mcctl $verb without the module" is_error 7 "module mooncake is not loaded"
	done
fi

echo value > "$tmp/v"
ctl --master "$m" --device "$tmp/nodev" object put k "$tmp/v"
ok "C-93 device missing" is_error 7 "$tmp/nodev"
cp "$tmp/err" "$tmp/e8"

silent=$(free_port)
python3 -c '
import socket, sys
s = socket.socket()
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen(8)
keep = []
while True:
    keep.append(s.accept())
' "$silent" &
pids+=($!)
wait_port 127.0.0.1 "$silent"
began=$(date +%s%N)
ctl --master "127.0.0.1:$silent" --timeout 1s object stat k
took=$((($(date +%s%N) - began) / 1000000))
ok "C-93 deadline passed" is_error 5 "127.0.0.1:$silent" "RPC_TIMEOUT"
cp "$tmp/err" "$tmp/e9"
ok "C-93 the deadline is kept ($took ms)" [ "$took" -ge 900 -a "$took" -lt $((2500 * ${MC_TIME_SCALE:-1})) ]

if [ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null; then
	touch "$tmp/closed" && chmod 0600 "$tmp/closed" && chmod 0755 "$tmp"
	as_nobody "$bin/mcctl" --master "$m" --device "$tmp/closed" object get k
	ok "C-93 no permission: the device" is_error 6 "$tmp/closed" "ermission"
else
	echo "ok $((n += 1)) - C-93 no permission: the device # SKIP needs root to be somebody else"
fi
distinct=$(cat "$tmp"/e[1-9] | sort -u | wc -l)
ok "C-93 nine distinct messages (the tenth, no segment mounted, needs two machines)" [ "$distinct" -eq 9 ]

# ---- C-90 ----

for good in "$m" "localhost:$port" "[::1]:$port"; do
	ctl --master "$good" master status
	ok "C-90 address $good" is_fine
done
for bad in "h:0" "h:65536" "h:x" ":$port" "::1:$port" "[::1" "[::1]$port" "[]:$port" "1.2.3.256:$port" "h:1:2" "h:"; do
	began=$(date +%s%N)
	ctl --master "$bad" master status
	took=$((($(date +%s%N) - began) / 1000000))
	ok "C-90 address '$bad' is refused" is_error 2 "$bad"
	ok "C-90 address '$bad' is refused at once" [ "$took" -lt 1000 ]
done

# ---- exit statuses and standard output ----

ctl --master "$m" object stat k
ok "an object that is not there: 3" is_error 3 "OBJECT_NOT_FOUND (-704)" "'k'" "'default'"
ctl --master "$m" object rm k l
ok "rm of two that are not there: 3" [ "$status" -eq 3 -a "$(wc -l < "$tmp/err")" -eq 2 ]
ctl --master "$m" --json object exist k
ok "exist says no with 3 and an answer" [ "$status" -eq 3 -a -s "$tmp/out" -a ! -s "$tmp/err" ]
ctl --master "$m" --json object ls
ok "an empty list is [] in JSON" [ "$status" -eq 0 -a "$(cat "$tmp/out")" = "[]" ]
ctl key generate "$tmp/key"
ok "a key is never written over: 4" is_error 4 "$tmp/key"
ctl node init "$tmp/uuid"
ok "node init" is_fine
ctl node init "$tmp/uuid"
ok "an identity is never written over: 4" is_error 4 "$tmp/uuid"
ctl key load "$tmp/nokey"
ok "a key file that is not there: 3" is_error 3 "$tmp/nokey"
: > "$tmp/empty"
ctl --master "$m" object put k "$tmp/empty"
ok "an empty value: 2" is_error 2 "$tmp/empty"
run "$bin/mcctl" --master "$m" master status
run bash -c '"$1" --master "$2" master status > /dev/full' sh "$bin/mcctl" "$m"
ok "a full disk is an error" is_error 1 "standard output"

# ---- C-20: names of tenants ----

for bad in "_x" "$(printf 't%.0s' $(seq 256))" $'a\tb'; do
	ctl --master "$m" --tenant "$bad" object stat k
	ok "C-20 tenant '${bad:0:8}...' is refused with -600" is_error 2 "INVALID_PARAMS (-600)"
done
for good in "" "a/b" "größe"; do
	ctl --master "$m" --tenant "$good" --json object ls
	ok "C-20 tenant '$good' is taken" is_fine
done

# ---- usage ----

usage() { # words expected in the message, arguments
	local word=$1
	shift
	ctl "$@"
	ok "usage: mcctl $* " is_error 2 "$word"
}
usage "no command"
usage "'frob'" frob
usage "needs a verb" object
usage "'object frob'" object frob
usage "too few" object get
usage "'c'" object get a b c
usage "'--frob'" object get k --frob
usage "given twice" --json --json object ls
usage "takes no value" --json=1 object ls
usage "needs a value" object ls --timeout
usage "'0s'" --timeout 0s object ls
usage "'5x'" --timeout 5x object ls
usage "'0'" event --count 0
usage "'x'" event --count x
usage "'soon'" top --interval soon
usage "'now'" event now
usage "'61m'" --timeout 61m object ls
usage "'x'" object ls --limit x
usage "'12Q'" pool create p 12Q
usage "'8K'" pool create p 1M --page-size 8K
usage "10.0.0.300" rail add rxe0 10.0.0.300
usage "'65536'" rail add rxe0 10.0.0.1 --port 65536
usage "'zz'" peer del zz
usage "ID@ADDRESS" peer set 00112233-4455-6677-8899-aabbccddeeff 10.0.0.1
usage "'0'" rail del 0
usage "--cluster is missing" node set
usage "KEY=FILE" object put-batch k
usage "--trace is missing" trace count
usage "'3Z'" trace conduct --block 3Z --trace x
usage "--conductor is missing" trace replay --trace x --node 0
usage "'2'" trace replay --trace x --conductor h --of 2 --node 2

for cmd in "" object "object get" trace "trace conduct" "node set"; do
	# shellcheck disable=SC2086 # words
	ctl $cmd --help
	ok "help: mcctl $cmd --help" [ "$status" -eq 0 -a -s "$tmp/out" -a ! -s "$tmp/err" ]
done

# ---- trace count: the numbers of the sample, and bad lines ----

"$top/tools/demo/gen-trace" 100 > "$tmp/sample.jsonl"
ctl --json trace count --trace "$tmp/sample.jsonl"
ok "trace count of the sample" grep -q '"hits": 700' "$tmp/out"
sed -i '7s/.*/{"timestamp": 1}/' "$tmp/sample.jsonl"
ctl trace count --trace "$tmp/sample.jsonl"
ok "a bad line is named" is_error 2 "$tmp/sample.jsonl:7:" "input_length"

# ---- trace conduct ends when nobody comes, and tells those that have another trace ----

"$top/tools/demo/gen-trace" 5 > "$tmp/five.jsonl"
cport=$(free_port)
ctl trace conduct --trace "$tmp/five.jsonl" --listen "127.0.0.1:$cport" --wait 1s
ok "conduct without nodes ends" is_error 5 "0 of 2 lanes"
python3 - "$cport" "$tmp" > /dev/null 2>&1 <<'EOT' &
import json, socket, sys, time
for _ in range(100):
    try:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
        break
    except OSError:
        time.sleep(0.05)
s.sendall(json.dumps({"hello": {"node": 0, "nodes": 2, "digest": "0", "requests": 9, "block_bytes": 65536}}).encode()
          + b"\n")
open(sys.argv[2] + "/refused", "w").write(s.makefile().readline())
EOT
ctl trace conduct --trace "$tmp/five.jsonl" --listen "127.0.0.1:$cport" --wait 10s
ok "another trace is refused on both sides" is_error 1 "your trace is another one"
wait $!
ok "... the node is told" grep -q '"refused"' "$tmp/refused"

# ---- mcnoded ----

run "$bin/mcnoded" --config "$tmp/none.yaml"
ok "mcnoded: no configuration: 2" is_error 2 "$tmp/none.yaml"
printf 'master: h\ncluster: 00112233-4455-6677-8899-aabbccddeeff\nuuid_file: %s\nkey_file: %s\n' "$tmp/u" "$tmp/key" \
	> "$tmp/n.yaml"
run "$bin/mcnoded" -c "$tmp/n.yaml" --check-config
ok "mcnoded: --check-config" is_fine
run "$bin/mcnoded" -c "$tmp/n.yaml"
ok "mcnoded: a key that others can read: 6" is_error 6 "$tmp/key" "0644"
chmod 0600 "$tmp/key"
if [ ! -e /sys/module/mooncake ]; then
	run "$bin/mcnoded" -c "$tmp/n.yaml"
	ok "mcnoded: module not loaded: 7" is_error 7 "module mooncake is not loaded"
fi
echo "pool: {name: p, size: 1M, pages: 3}" >> "$tmp/n.yaml"
run "$bin/mcnoded" -c "$tmp/n.yaml" --check-config
ok "mcnoded: an unknown setting: 2" is_error 2 "$tmp/n.yaml:5:" "'pages'"
run "$bin/mcnoded" --frob
ok "mcnoded: an unknown option: 2" [ "$status" -eq 2 -a ! -s "$tmp/out" ]
run "$bin/mcnoded" --help
ok "mcnoded: --help" is_fine

echo "1..$n"
exit $failed
