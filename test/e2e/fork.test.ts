/** A build forked after its first commit, killed and resumed, ends with the commits of the whole build. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { emptySha, git } from '../builder/support.ts';
import { treeOf } from '../support/house.ts';
import { home, root } from '../support/in-process.ts';

const order = (n: number, files: readonly string[], files_before: readonly string[] = []) => ({
  id: `WO-0${n}`,
  title: `Step ${n}`,
  intent: 'Files with a number in them.',
  preconditions: files_before.map((path) => ({ kind: 'file_exists', path })),
  postconditions: files.map((path) => ({ kind: 'file_exists', path })),
  allowed_files: files,
  forbidden: [],
  acceptance_commands: [`grep -q ${n} f${n}.txt`],
  context_files: files,
  notes: null,
});
const plan = {
  system_overview: ['Two files.'],
  verify_contract: {
    command: 'bash scripts/verify.sh',
    requires: [{ kind: 'file_exists', path: 'scripts/verify.sh' }],
  },
  work_orders: [order(1, ['scripts/verify.sh', 'f1.txt']), order(2, ['f2.txt'], ['f1.txt'])],
};
const writes = (...files: (readonly [string, string])[]) => ({
  json: {
    summary: 's',
    writes: files.map(([path, content]) => ({ path, base_sha256: emptySha, content })),
  },
});
const script = {
  format: 'factory-script/1',
  answers: {
    propose: [
      writes(['scripts/verify.sh', 'grep -q 1 f1.txt\n'], ['f1.txt', '1\n']),
      writes(['f2.txt', 'two\n']),
      writes(['f2.txt', '2\n']),
    ],
  },
};

test('the fork of a build makes the same commits as the build, with or without a kill in between', async () => {
  await using it = await home({ 'plan.json': JSON.stringify(plan), 's.json': JSON.stringify(script) });
  const start = ['run', join(root, 'pipelines/build.dot'), '--run-id', 'base', '--var', 'plan=plan.json'];
  const ran = await it.factory([...start, '--agent', 'scripted', '--script', 's.json', '-q']);
  expect(ran.code, ran.stderr).toBe(0);
  const dir = (run: string) => join(it.path, '.factory/runs', run);
  const log = (run: string) =>
    git(join(dir(run), 'history.git'), 'log', '--reverse', '--format=%s %T', 'refs/factory/head').split('\n');
  const built = log('base');
  expect(built).toEqual([expect.stringMatching(/^WO-01: Step 1 /), expect.stringMatching(/^WO-02: Step 2 /)]);
  const before = treeOf(dir('base'));

  // In the middle of the second order, before the roll-back of its first attempt.
  let killed = false;
  const cut = await it.program(['fork', 'base', '--at', 'apply@2', '--run-id', 'f'], {
    watch: (line, process) => {
      if (killed || !line.includes('node=rollback')) return;
      killed = true;
      process.kill('SIGKILL');
    },
  });
  expect(cut.signal, cut.stderr).toBe('SIGKILL');
  expect(git(join(dir('f'), 'history.git'), 'rev-list', '--count', '--all')).toBe('1');
  // Killed, resumed or neither: nothing else has changed.
  const holds = async (run: string) => {
    const verified = await it.factory(['verify', run]);
    expect(verified.code, verified.stdout).toBe(0);
  };
  await holds('f');
  const resumed = await it.factory(['resume', 'f', '--json']);
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(log('f')).toEqual(built);
  const result = JSON.parse(resumed.stdout);
  expect(result.commits.map((c: { attempts: number }) => c.attempts)).toEqual([1, 2]);
  expect(result).toMatchObject({ proof: ['bash scripts/verify.sh'], forked_from: { run_id: 'base' } });
  expect(treeOf(join(dir('f'), 'workspace'), ['.factory'])).toEqual(
    treeOf(join(dir('base'), 'workspace'), ['.factory']),
  );
  expect(treeOf(dir('base'))).toEqual(before);
  await holds('f');
  await holds('base');
  const listed = await it.factory(['runs']);
  expect(listed.stdout).toMatch(/^f +completed .* fork of base after apply@2$/m);
}, 180_000);
