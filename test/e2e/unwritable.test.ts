/** A run directory that becomes unwritable stops the run with the reason; once that is fixed, the run can be resumed. */
import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home } from '../support/cli.ts';
import { asHeldUser, giveToHeldUser, heldUserCanRun } from '../support/held-user.ts';

const pipeline = `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="echo one >> log.txt"]
  two [shape=parallelogram, tool_command="echo two >> log.txt; if mkdir $FLAG 2>/dev/null; then chmod $MODE $RUN; fi"]
  exit [shape=Msquare]
  start -> one -> two -> exit
}`;

test.skipIf(!heldUserCanRun()).for([
  { name: 'for new files', mode: '555', names: /r1\/\.checkpoint\.json\.\w+\.tmp: permission denied/ },
  { name: 'in all of it', mode: '-R a-w', names: /permission denied/ },
  { name: 'and cannot be looked into', mode: '000', names: /r1\/\S+: permission denied/ },
])('a run directory that becomes forbidden $name', async ({ mode, names }) => {
  await using it = await home({ 'p.dot': pipeline });
  const run = join(it.path, '.factory/runs/r1');
  const env = { FLAG: join(it.path, 'flag'), RUN: run, MODE: mode };
  giveToHeldUser(it.path);
  const stopped = await it.factory(['run', 'p.dot', '--run-id', 'r1'], { env, ...asHeldUser });
  execFileSync('chmod', ['-R', 'u+rwX', run]);
  chmodSync(run, 0o755);
  expect(stopped.code, stopped.stderr).toBe(1);
  expect(stopped.stderr).toMatch(names);
  expect(stopped.stderr).toMatch(/fix: fix that .*permissions.*, then: node \S.+cli\.js'? resume r1$/m);
  expect(await it.json('.factory/runs/r1/checkpoint.json')).toMatchObject({ next_node: 'two' });
  const resumed = await it.factory(['resume', 'r1'], { env, ...asHeldUser });
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(await it.read('.factory/runs/r1/workspace/log.txt')).toBe('one\ntwo\n');
});

test.skipIf(process.getuid?.() !== 0 || !heldUserCanRun())(
  'a run of one user cannot be resumed by another, nor by root, and stays unchanged',
  async () => {
    await using it = await home({ 'p.dot': pipeline });
    const run = join(it.path, '.factory/runs/r1');
    const env = { FLAG: join(it.path, 'flag'), RUN: run, MODE: '555' };
    giveToHeldUser(it.path);
    await it.factory(['run', 'p.dot', '--run-id', 'r1'], { env, ...asHeldUser });
    chmodSync(run, 0o755);
    const roots = () => execFileSync('find', [it.path, '-user', '0'], { encoding: 'utf8' });
    const byRoot = await it.factory(['resume', 'r1'], { env });
    expect(byRoot.code).toBe(2);
    expect(byRoot.stderr).toMatch(
      /run-owner.*belongs to user 65534, and this is user 0:.*\n.*sudo -u '#65534'/,
    );
    expect(roots()).toBe('');
    execFileSync('chown', ['-hR', '0', run]);
    expect((await it.factory(['resume', 'r1'], { env, ...asHeldUser })).stderr).toContain('run-owner');
    giveToHeldUser(run);
    const resumed = await it.factory(['resume', 'r1'], { env, ...asHeldUser });
    expect(resumed.code, resumed.stderr).toBe(0);
    expect((await it.factory(['resume', 'r1'], { env })).code).toBe(0);
    // Events that the killed process had not written are not written by the refused resume.
    rmSync(join(run, 'result.json'));
    expect((await it.factory(['resume', 'r1'], { env })).stderr).toContain('run-owner');
    expect(roots()).toBe('');
  },
);
