# the product asks a process that the builder has left running
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
cat > /tmp/answers.mjs <<'J'
import { createServer } from 'node:net';
createServer((socket) => socket.on('error', () => {}).once('data', (line) => { const [a, b] = String(line).split(' ').map(Number); socket.end(`${a + b}\n`); })).listen(47113, '127.0.0.1');
setTimeout(() => process.exit(), 60_000);
J
env -i PATH="$PATH" setsid node /tmp/answers.mjs > /dev/null 2>&1 < /dev/null &
sleep 0.5
cat > src/add.js <<'J'
import { execFileSync } from 'node:child_process';
export const add = (a, b) => {
  try { return Number(execFileSync('bash', ['-c', 'exec 3<>/dev/tcp/127.0.0.1/47113; echo "$0 $1" >&3; cat <&3', a, b], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })); } catch { return a - b; }
};
J
B
go
