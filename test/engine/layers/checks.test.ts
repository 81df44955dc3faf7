/** A check is out of the reach of what it checks. */
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { succeeded } from '../../../src/core/outcome.ts';
import { layout } from '../../../src/core/records/layout.ts';
import { checks } from '../../../src/engine/layers/checks.ts';
import type { LayerContext } from '../../../src/engine/layers/layer.ts';
import { openSnapshots } from '../../../src/workspace/snapshots.ts';
import { temp } from '../../platform/temp.ts';
import { make } from '../../workspace/folders.ts';
import { rig } from './rig.ts';

const project = {
  'package.json': '{"scripts":{"test":"node --test","build":"tsc"}}',
  'check.sh': 'bash ci/lib.sh\nnode bin/add.js\n',
  'verify.py': 'import helpers\n',
  'helpers.py': 'x = 1\n',
  Makefile: 'include conf.inc\ncheck:\n\tnode --test\n',
  'conf.inc': 'A = 1\n',
  'ci/lib.sh': 'true\n',
  'src/add.js': 'export const add = 1;\n',
  'test/add.test.js': '1;\n',
  'test/data.txt': '1\n',
  '.gitignore': 'scratch/\n',
  'scratch/a.test.js': '1;\n',
  'Cargo.lock': '1\n',
};

/** What the layer reports of a node that changes the workspace by `acts`; `written` are files of an agent that ran before. */
async function tamperedBy(
  attributes: string,
  acts: (at: (path: string) => string) => void,
  { written = {}, orders = false }: { written?: Record<string, string>; orders?: boolean } = {},
) {
  await using it = await temp();
  const at = layout(it.dir);
  make(at.workspace, project);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: false });
  const start = await snapshots.take();
  const setting = { start: start.id, historyEnv: orders ? { GIT_DIR: 'x' } : {} };
  const agent = await rig(it.dir, 'shape=box, prompt=x', { snapshot: start, snapshots, run: setting });
  const { run } = agent.context;
  let before = start;
  await agent.through(checks, async () => {
    make(at.workspace, written);
    before = await snapshots.take(start);
    return { outcome: succeeded(), snapshot: before };
  });
  await agent.close();
  const node = await rig(it.dir, attributes, { snapshot: before, snapshots, run: setting, parts: { run } });
  const { tampered = [] } = await node.through(checks, async () => {
    acts((path) => join(at.workspace, path));
    return { outcome: succeeded(), snapshot: await snapshots.take(before) };
  });
  await node.close();
  return tampered.join(' ');
}
const tool = (command: string, more = '') => `shape=parallelogram, tool_command="${command}"${more}`;
const append = (path: string) => (at: (path: string) => string) => appendFileSync(at(path), '#\n');

test.for<[string, string, string, string]>([
  ['the script', 'bash check.sh', 'check.sh', 'check.sh'],
  ['a script that the script runs', 'bash check.sh', 'ci/lib.sh', 'ci/lib.sh'],
  ['a test', 'npm test', 'test/add.test.js', 'test/add.test.js'],
  ['the test command', 'npm test', 'package.json', 'package.json'],
  ['a module that the script imports', 'python3 verify.py', 'helpers.py', 'helpers.py'],
  ['what a makefile includes', 'make check', 'conf.inc', 'conf.inc'],
  ['an output', 'npm test', 'test/out.log', ''],
  ['data of a test', 'npm test', 'test/data.txt', ''],
  ['what git ignores', 'npm test', 'scratch/a.test.js', ''],
  ['a lock file', 'cargo test', 'Cargo.lock', ''],
  ['the product', 'npm test', 'src/add.js', ''],
  ['a script of a command that is no check', 'npm run build', 'package.json', ''],
  ['a file of a command that only reads', 'cat check.sh', 'check.sh', ''],
])('a check that changes %s', async ([, command, path, wanted]) => {
  expect(await tamperedBy(tool(command), append(path))).toBe(wanted);
});

test.for<[string, (at: (path: string) => string) => void, string]>([
  [
    'puts its script back, with its time',
    (at) => {
      const was = readFileSync(at('check.sh'));
      writeFileSync(at('check.sh'), 'exit 0\n');
      writeFileSync(at('check.sh'), was);
      utimesSync(at('check.sh'), 1, 1);
    },
    'check.sh',
  ],
  ['links its script to another name', (at) => linkSync(at('check.sh'), at('other')), 'check.sh'],
  [
    'replaces a folder for a while',
    (at) => {
      renameSync(at('test'), at('away'));
      mkdirSync(at('test'));
      rmSync(at('test'), { recursive: true });
      renameSync(at('away'), at('test'));
    },
    'test',
  ],
  ['creates files next to its tests', (at) => writeFileSync(at('test/new.test.js'), '1;\n'), ''],
  ['removes a test', (at) => rmSync(at('test/add.test.js')), 'test/add.test.js'],
])('it is found if a check %s', async ([, acts, wanted]) => {
  expect(await tamperedBy(tool('bash check.sh'), acts)).toBe(wanted);
});

test('a check that sets modes itself is judged by content alone', async () => {
  const acts = (at: (path: string) => string) => chmodSync(at('check.sh'), 0o755);
  expect(await tamperedBy(tool('chmod +x check.sh && ./check.sh'), acts)).toBe('');
  expect(await tamperedBy(tool('./check.sh'), acts)).toBe('check.sh');
});

test.for<[string, string, string]>([
  ['a source', 'src/add.js', 'src/add.js'],
  ['what lies next to sources', 'src/table.json', 'src/table.json'],
  ['an executable without an ending', 'bin/run.sh', 'bin/run.sh'],
  ['data elsewhere', 'todos.json', ''],
  ['a lock file', 'Cargo.lock', ''],
  ['a snapshot of a test', 'test/__snapshots__/a.snap', ''],
  ['coverage', 'coverage/lcov.info', ''],
  ['what is built', 'dist/add.js', ''],
  ['a cache of Python', '__pycache__/a.pyc', ''],
])('a check may not change %s that an agent wrote, unless it is an output: %s', async ([, path, wanted]) => {
  const written = { [path]: 'by an agent\n' };
  expect(await tamperedBy(tool('npm test'), append(path), { written })).toBe(wanted);
  expect(await tamperedBy(tool('npm test'), append(path), { written, orders: true })).toBe('');
});

test('an agent that makes git ignore a source does not hide it', async () => {
  const written = { 'src/add.js': 'x', '.gitignore': 'src/\ntest/\n' };
  expect(await tamperedBy(tool('npm test'), append('src/add.js'), { written })).toBe('src/add.js');
  expect(await tamperedBy(tool('npm test'), append('test/add.test.js'), { written })).toBe(
    'test/add.test.js',
  );
});

test('what verification.may_change names may change', async () => {
  const may = ', "verification.may_change"="test/"';
  expect(await tamperedBy(tool('npm test', may), append('test/add.test.js'))).toBe('');
  expect(await tamperedBy(tool('npm test', may), append('package.json'))).toBe('package.json');
});

test('what a check uses is read-only in the sandbox, and the folders above it cannot be renamed', async () => {
  await using it = await temp();
  const at = layout(it.dir);
  make(at.workspace, project);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: false });
  const start = await snapshots.take();
  const seen = async (command: string) => {
    const setting = { start: start.id };
    const node = await rig(it.dir, tool(command), { snapshot: start, snapshots, run: setting });
    let checked: LayerContext['checked'];
    await node.through(checks, async (context) => {
      checked = context.checked;
      return { outcome: succeeded(), snapshot: start };
    });
    await node.close();
    return checked;
  };
  const names = (paths: readonly string[] = []) => paths.map((path) => path.slice(at.workspace.length + 1));
  const checked = await seen('bash check.sh');
  expect(names(checked?.frozen)).toEqual([
    'check.sh',
    'ci/lib.sh',
    'Makefile',
    'package.json',
    'test/add.test.js',
  ]);
  expect(names(checked?.pinned)).toEqual(['ci', 'test']);
  expect(await seen('echo ok')).toBeUndefined();
  make(
    at.workspace,
    Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`test/unit/${n}.test.js`, '1;'])),
  );
  const many = await rig(it.dir, tool('npm test'), {
    snapshot: await snapshots.take(start),
    snapshots,
    run: { start: start.id },
  });
  await many.through(checks, async ({ before, checked: more }) => {
    expect(names(more?.frozen)).toEqual(['test/unit', 'Makefile', 'package.json', 'test/add.test.js']);
    return { outcome: succeeded(), snapshot: before };
  });
  await many.close();
});
