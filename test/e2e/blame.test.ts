/** Failures and their attribution across kills and resumes, with the built command line. */
import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isAlive, processId } from '../../src/platform/process/table.ts';
import { home } from '../support/in-process.ts';

const pipeline = `digraph g {
  start [shape=Mdiamond]; exit [shape=Msquare]
  judge [shape=parallelogram, tool_command="sh scripts/scenarios/a.sh app"]; fix [prompt="fix it"]
  start -> judge; judge -> exit [condition="outcome=success"]; judge -> fix [condition="outcome=fail"]; fix -> judge }`;
const run = ['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w', '--agent', 'fake'];

test('a run that is killed while a scenario is rerun leaves no process behind, and can be resumed', async () => {
  const script = 'case $PWD in *.rerun*) echo $$ > "$PIDS"; sleep 600;; esac\n[ -e "$GOOD" ] || exit 1\n';
  await using it = await home({ 'p.dot': pipeline, 'w/scripts/scenarios/a.sh': script, 'w/app/x': 'bad\n' });
  const [pids, good] = [join(it.path, 'pids'), join(it.path, 'good')];
  const env = { PIDS: pids, GOOD: good };
  const read = () => (existsSync(pids) ? readFileSync(pids, 'utf8').trim() : '');
  const begun = it.program(run, {
    env,
    watch(line, process) {
      if (!/run again in a clean copy/.test(line)) return;
      const looking = setInterval(() => {
        if (read() === '') return;
        clearInterval(looking);
        process.kill('SIGKILL');
      }, 20);
    },
  });
  expect((await begun).signal).toBe('SIGKILL');
  const scratch = join(it.path, '.factory/runs/r1/.scratch/.rerun');
  expect(existsSync(scratch)).toBe(true);
  const left = processId(Number(read()));
  expect(left).toBeDefined();
  await rm(pids);
  await writeFile(good, '');
  const resumed = await it.factory(['resume', 'r1'], { env });
  expect(resumed.code, resumed.stderr).toBe(0);
  // A zombie has ended.
  expect(left !== undefined && isAlive(left)).toBe(false);
  expect(existsSync(scratch)).toBe(false);
  expect(existsSync(pids)).toBe(false);
});
