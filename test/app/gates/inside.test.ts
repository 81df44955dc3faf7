/** Nodes cannot answer the questions of their own run. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterEach, expect, test, vi } from 'vitest';
import { processMarker } from '../../../src/app/run/run-state.ts';
import { epochVariable } from '../../../src/core/records/layout.ts';
import { hasProc } from '../../../src/platform/process/table.ts';
import { openRun } from '../../../src/run/open-run.ts';
import { noBwrap } from '../../platform/sandbox/machine.ts';
import { onDisk } from '../../support/temporary.ts';
import { gateGraph, gateRun, refusalOf } from './gate-run.ts';

onDisk();
afterEach(() => void vi.unstubAllEnvs());

const asks = gateGraph('ask [shape=hexagon]; start -> ask -> done');

test.for([
  ['the marker of the run', (marker: string) => ['FACTORY_RUN_MARKER', marker]],
  ['the variable of its owner', (marker: string) => [epochVariable(marker), '1']],
] as const)('a process with %s in its environment cannot answer', async ([, variable]) => {
  await using it = await gateRun(asks);
  await it.start();
  const read = await openRun(it.runDir).manifest();
  if (!read.ok) throw new Error(read.why);
  const [name = '', value = ''] = variable(processMarker(it.runDir, read.manifest));
  vi.stubEnv(name, value);
  expect(refusalOf(await it.answer({ choice: 'done' }))).toBe('answer-inside');
  expect(readdirSync(join(it.runDir, 'answers'))).toEqual([]);
  vi.stubEnv(name, 'another run');
  vi.unstubAllEnvs();
  expect(refusalOf(await it.answer({ choice: 'done' }))).toBeUndefined();
});

test.runIf(hasProc)('a process that clears its environment still descends from the marked one', async () => {
  await using it = await gateRun(asks);
  const file = join(it.dir, 'table.mjs');
  const from = `import { descendsFrom } from './src/platform/process/table.ts'; console.log(descendsFrom(['MARK=1', 'OTHER=']))`;
  buildSync({
    stdin: { contents: from, resolveDir: process.cwd() },
    ...{ bundle: true, platform: 'node', format: 'esm', outfile: file },
  });
  const says = (environment: string): string =>
    spawnSync('sh', ['-c', `${environment} sh -c 'env -i "$0" "$1"; true' "$0" "$1"`, process.execPath, file])
      .stdout.toString()
      .trim();
  expect(says('MARK=1')).toBe('true');
  expect(says('OTHER=x')).toBe('true');
  expect(says('MARK=12')).toBe('false');
});

test.skipIf(noBwrap !== undefined)(
  'in the sandbox a node sees the answers of its run read-only or not at all',
  async () => {
    const command = (sees: string): string => `tool_command="${sees}"`;
    await using it = await gateRun(
      gateGraph(`plain [shape=parallelogram, ${command('test ! -e ${FACTORY_WORKSPACE%/workspace}/answers')}]
      inside [shape=parallelogram, access="run", ${command(
        'test -d $FACTORY_RUN_DIR/answers && ! touch $FACTORY_RUN_DIR/answers/ask@1.json && ! mv $FACTORY_RUN_DIR/answers $FACTORY_RUN_DIR/other && touch $FACTORY_RUN_DIR/inside/proof',
      )}]
      ask [shape=hexagon]; start -> plain -> inside -> ask -> done`),
    );
    const { result } = await it.start({ sandbox: 'bwrap' });
    expect(it.visits().map(({ node, outcome }) => `${node} ${outcome.status}`)).toEqual([
      'start success',
      'plain success',
      'inside success',
    ]);
    expect(result.status).toBe('paused_answer');
    expect(existsSync(join(it.runDir, 'inside', 'proof'))).toBe(true);
  },
);

test('without a sandbox the run says that nodes could answer, and only where it has a gate', async () => {
  const missing = async (dot: string) => {
    await using it = await gateRun(dot);
    await it.start({ sandbox: 'none' });
    const read = await openRun(it.runDir).manifest();
    return read.ok ? read.manifest.not_enforced.filter((one) => one.startsWith('answers')) : [];
  };
  const work = 'work [shape=parallelogram, tool_command="true"]; start -> work';
  expect(await missing(gateGraph(`${work} -> ask -> done; ask [shape=hexagon]`))).toHaveLength(1);
  expect(await missing(gateGraph(`${work} -> done`))).toEqual([]);
});
