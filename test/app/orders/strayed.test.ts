/** The proof runs what is built. Without a sandbox it can write to the run's history: a commit that it puts there is refused. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nests } from '../../../src/platform/sandbox/capabilities.ts';
import { git, put, repository } from '../../builder/support.ts';
import { ladder, noBwrap } from '../../platform/sandbox/machine.ts';
import { type Home, home } from '../../support/in-process.ts';
import { onDisk } from '../../support/temporary.ts';
import { answer, order } from './support.ts';

onDisk();

/** A check that moves the run's refs to another commit. */
const strays = (history: string) => `test -n "$FACTORY_PROOF" || exit 0
export GIT_DIR='${history}' GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=e
made=$(git commit-tree -p refs/factory/base -m 'WO-01: Step 1' "refs/factory/base^{tree}")
git update-ref refs/factory/head $made
git update-ref refs/heads/factory $made
`;

const files = {
  'order.json': JSON.stringify(order(1)),
  'script.json': JSON.stringify({
    format: 'factory-script/1',
    answers: { propose: [answer('f1.txt', '1\n')] },
  }),
};

const carryOut = (it: Home, more: readonly string[] = []) =>
  it.factory(
    [
      ...[
        'order',
        'run',
        '--repo',
        'repo',
        '--work-order',
        'order.json',
        '--branch',
        'mine',
        '--run-id',
        'o',
      ],
      ...['--agent', 'scripted', '--script', 'script.json', '--runsdir', 'runs', '--no-push', '--json'],
    ],
    { env: Object.fromEntries(more.map((name) => [name, ''])) },
  );

test('a history that a check has moved is neither landed nor delivered', async () => {
  await using it = await home(files);
  const repo = join(it.path, 'repo');
  const history = join(it.path, 'runs/o/history.git');
  put(repo, { 'scripts/verify.sh': strays(history) });
  repository(repo);
  const ran = await carryOut(it);
  expect(ran.code, ran.stderr).toBe(1);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    verdict: 'FAIL',
    commit: null,
    reason: expect.stringContaining('or one of its checks has moved it'),
  });
  expect(git(repo, 'branch', '--list', 'mine')).toBe('');
  const delivered = await it.factory(['deliver', 'o', '--runsdir', 'runs', '--to', 'out']);
  expect(delivered.code).toBe(1);
  expect(delivered.stderr).toContain('has moved it');
  expect(existsSync(join(it.path, 'out'))).toBe(false);
});

test.for(['manifest.json', 'history.git/factory-start.json'])(
  'an order whose check has written to %s is refused with that name, and nothing lands',
  async (name) => {
    await using it = await home(files);
    const repo = join(it.path, 'repo');
    const path = join(it.path, 'runs/o', name);
    put(repo, { 'scripts/verify.sh': `test -z "$FACTORY_PROOF" || echo '{}' > '${path}'\n` });
    repository(repo);
    const ran = await carryOut(it);
    expect(ran.code, ran.stderr).toBe(1);
    expect(ran.stderr).toContain(`${path} is `);
    expect(ran.stderr).not.toContain('an error of factory itself');
    expect(git(repo, 'branch', '--list', 'mine')).toBe('');
  },
);

/** Writes wherever it may below the run's folder, and says where that is. */
const scribbles = (runDir: string) => `test -n "$FACTORY_PROOF" || exit 0
for at in '${runDir}' '${runDir}'/* '${runDir}'/history.git/* '${runDir}'/.[a-z]*; do
  if test -d "$at"; then (: > "$at/scribble") 2>/dev/null && echo "$at"; else (: >> "$at") 2>/dev/null && echo "$at"; fi
done
${strays(`${runDir}/history.git`)}
cd /proc
{ ls -A '${runDir}' [0-9]*/root'${runDir}' [0-9]*/cwd/; cat [0-9]*/environ | tr '\\0' '\\n' | grep FACTORY_RUN_DIR
  umount '${runDir}'; ls -A '${runDir}'; } >&2
exit 0
`;

test.skipIf(noBwrap !== undefined)(
  'in the sandbox a check in the proof can write nothing of the run, but in the workspace and the folder of its stage where no sandbox works in another one',
  async () => {
    await using it = await home(files);
    const repo = join(it.path, 'repo');
    const runDir = join(it.path, 'runs/o');
    put(repo, { 'scripts/verify.sh': scribbles(runDir) });
    repository(repo);
    const ran = await carryOut(it, ['FACTORY_SANDBOX']);
    expect(ran.code, ran.stderr).toBe(0);
    const wrote = await it.read('runs/o/proof/proof.0.stdout.txt');
    const isApart = process.getuid?.() === 0 || (await nests(ladder, process.env));
    const open = isApart ? [] : ['proof', 'workspace'];
    expect(wrote).toBe(open.map((name) => `${join(runDir, name)}\n`).join(''));
    const saw = await it.read('runs/o/proof/proof.0.stderr.txt');
    if (isApart) expect(saw).not.toMatch(/manifest\.json|FACTORY_RUN_DIR|visits\.jsonl/);
    expect(git(repo, 'log', '--format=%s', 'mine')).toBe('WO-01: Step 1\nfirst');
    expect(git(repo, 'rev-parse', 'mine')).toBe(JSON.parse(ran.stdout).commit);
  },
);
