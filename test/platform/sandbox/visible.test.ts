/** What a node sees of a machine, path by path, by what it is: nothing more may be seen, whatever the sandbox is made of. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConfinementRequest } from '../../../src/core/policy/confinement.ts';
import { onDisk } from '../../support/temporary.ts';
import { type Machine, machine, noBwrap } from './machine.ts';

onDisk();

let it: Machine;
beforeAll(async () => {
  it = await machine();
  const made =
    'home/.tool/login home/.tool/bin/run home/.cache/old home/project/docs/a.md home/other/x own/dist/cli.js';
  for (const file of [...made.split(' '), 'own/README.md', 'tools/bin/t', 'tools/share/x']) {
    mkdirSync(join(it.path, file, '..'), { recursive: true });
    writeFileSync(join(it.path, file), 'x');
  }
  mkdirSync(join(it.path, 'home/project/.factory/runs/R1/me/visits/1'), { recursive: true });
});
afterAll(() => it[Symbol.asyncDispose]());

/** Prints each path below the machine's folder that the node sees; `w` where it can write in it, `r` where it can read. */
const listing = `cd / && find "$AT" -name .scratch -prune -o -print 2>/dev/null | LC_ALL=C sort | while IFS= read -r path; do
  if [ -d "$path" ]; then may=d; if (: > "$path/.try") 2>/dev/null; then may=w; rm -f "$path/.try"; fi
  elif (: >> "$path") 2>/dev/null; then may=w; elif cat "$path" > /dev/null 2>&1; then may=r; else may=-; fi
  case "$path" in *.out|*.err) ;; *) echo "$may \${path#"$AT"}" ;; esac
done`;

/** Whether paths of the system are there (\`d\` a folder that lists, \`e\` an empty one, \`r\` readable, \`w\` writable, \`-\` absent or empty). */
const system = `for path in $PATHS; do
  if [ -d "$path" ]; then may=e; [ -n "$(ls -A "$path" 2>/dev/null)" ] && may=d; if (: > "$path/.try") 2>/dev/null; then may=w; rm -f "$path/.try"; fi
  elif [ -e "$path" ]; then may=-; [ -n "$(head -c 1 "$path" 2>/dev/null | tr -d '\\0')" ] && may=r; (: >> "$path") 2>/dev/null && may=w
  else may=-; fi
  echo "$may $path"
done`;

const paths = [
  '/ /bin /boot /dev /dev/mem /dev/null /dev/shm /dev/tty0 /dev/vda /etc /etc/gshadow /etc/passwd /etc/shadow /media /mnt /proc',
  '/proc/1/environ /proc/kcore /proc/sys/kernel/core_pattern /proc/irq/default_smp_affinity /proc/sys/kernel/hostname /proc/sysrq-trigger /run /run/lock /srv /sys',
  '/sys/class /sys/devices /sys/firmware /sys/fs /sys/kernel /sys/kernel/debug /tmp /usr /usr/bin/env /var /var/lib /var/log',
  '/var/run /var/tmp',
].join(' ');

const cases: readonly (readonly [string, Partial<ConfinementRequest>])[] = [
  ['a tool', {}],
  ['a verification', { verification: true }],
  ['a node that sees the history', { history: true }],
  ['access="run"', { access: 'run' }],
  ['access="run:ro"', { access: 'run:ro' }],
  ['a node that runs scenarios', { access: 'run', scenarios: true }],
];

describe.skipIf(noBwrap !== undefined || process.getuid?.() !== 0)('of a machine', () => {
  test.for(cases)('%s sees these paths', async ([name, wanted]) => {
    const { path } = it;
    const own = [join(path, 'own/dist')];
    const places = { own, path: ['/usr/bin', '/bin', join(path, 'tools/bin'), join(path, 'home/.tool/bin')] };
    const { said } = await it.stage(listing, { wanted, places });
    expect(said).toMatchSnapshot(name);
  });

  test('an agent sees what its program declares of the home, and what the author binds', async () => {
    const program = {
      network: true,
      home: [{ path: join(it.path, 'home/.tool'), write: true }],
      file: undefined,
    };
    const bind = [join(it.path, 'elsewhere'), `${join(it.path, 'home/other')}:rw`];
    const { said } = await it.stage(listing, {
      wanted: { program, bind },
      places: { path: ['/usr/bin', '/bin'] },
    });
    expect(said).toMatchSnapshot();
  });

  test.for(cases)('%s sees these of the system', async ([name, wanted]) => {
    const { said } = await it.stage(`PATHS='${paths}'; ${system}`, { wanted });
    expect(said).toMatchSnapshot(name);
  });
});
