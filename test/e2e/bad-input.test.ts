/** Bad input gets a clear message and the right exit code, and leaves no partial files. */
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type Home, home, root } from '../support/in-process.ts';
import { startModelServer } from '../support/model-server.ts';

const good = 'digraph g { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }';
const job = join(root, 'pipelines/compile-and-build.dot');

const files = {
  'p.dot': good,
  'empty.dot': '',
  'binary.dot': '\u0000\u0001\u0002',
  'cut.dot': good.slice(0, -3),
  'huge.dot': 'a -> '.repeat(1_000_000),
  '-p.dot': good,
  'ask.dot': 'digraph g { start [shape=Mdiamond] a [prompt=x] exit [shape=Msquare] start -> a -> exit }',
  's.json': '{"format":"factory-script/1","answers":{"a":[{"file":"no.txt"}]}}',
  's.md': ' \n',
  'folder/x': '',
  'w/in/x': '',
};
let it: Home;
let before: readonly string[];
beforeAll(async () => {
  it = await home(files);
  before = await it.list('.');
});
afterAll(() => it[Symbol.asyncDispose]());

/** What is wrong, the command line, and texts in the message. */
const rows: readonly (readonly [says: string, line: string, ...wants: string[]])[] = [
  ['no pipeline', 'run', 'no pipeline file is named'],
  ['a resume of no run', 'run --resume', '--resume needs --run-id', ' resume RUN', ' runs lists the runs'],
  ['a missing pipeline', 'run nowhere.dot', 'there is no pipeline file nowhere.dot'],
  ['a dash, which is a file name', 'run -', 'there is no pipeline file -', 'standard input is /dev/stdin'],
  ['a folder', 'run folder', 'folder is a folder'],
  ['a file below a file', 'run p.dot/x', 'there is no pipeline file p.dot/x'],
  ['a name that is too long', `run ${'x'.repeat(5000)}`, 'error[pipeline-file]', 'the name is too long'],
  ['a name that is empty', "run ''", 'the name of the pipeline file is empty'],
  ['an empty file', 'run empty.dot', 'empty.dot'],
  ['a binary file', 'run binary.dot', 'binary.dot'],
  ['a truncated file', 'run cut.dot', 'cut.dot:1:'],
  ['a huge file that is not a pipeline', 'run huge.dot', 'huge.dot'],
  ['an unknown flag', 'run p.dot --bogus', '--bogus'],
  ['a flag without its value', 'run p.dot --workdir', '--workdir'],
  // An unset shell variable: the current folder was not meant.
  ...[
    'run p.dot --workdir=',
    'order run --work-order o.json --repo=',
    'order run --repo r --work-order o.json --out=',
    'order run-all --repo r --workdir w --artifacts-dir=',
    'plan p.dot --overwrite --outdir=',
    'deliver r --to=',
  ].map((line) => {
    const flag = line.split(' ').at(-1)?.slice(0, -1);
    return [`an empty value: ${line}`, line, `${flag} <dir>' argument '' is invalid`] as const;
  }),
  ['a run id that leaves the runs directory', 'run p.dot --run-id ../x', '--run-id', '../x'],
  ['an undeclared variable', 'run p.dot --var x=1', '--var x'],
  ['a variable without a value', 'run p.dot --var x', 'NAME=VALUE'],
  ['a workdir that is missing', 'run p.dot --workdir gone', 'workdir', 'gone'],
  ['a workdir that is a file', 'run p.dot --workdir p.dot', 'workdir'],
  ['a workdir that is the whole file system', 'run p.dot --workdir /', 'the workdir / is the whole'],
  ['a runs directory that is the workdir', 'run p.dot --workdir w --runsdir w', 'w'],
  ['a runs directory that contains the workdir', 'run p.dot --workdir w/in --runsdir w', 'w'],
  ['a runs directory that cannot be created', 'run p.dot --runsdir /proc/x/r', '/proc/x/r cannot be made'],
  [
    'a runs directory whose name is too long',
    `run p.dot --runsdir new/${'r'.repeat(300)}`,
    'the name is too long',
  ],
  ['a spec that is missing', `run ${job} --var spec=gone.md`, 'spec', 'gone.md'],
  ['a spec that is empty', `run ${job} --var spec=s.md`, 's.md is empty'],
  ['a spec without a name', `run ${job} --var spec=`, 'variable "spec" names no file', '--var spec=FILE'],
  [
    'a flag instead of a value',
    'run p.dot --workdir --json-is-no-value',
    '--workdir <dir>',
    'argument missing',
    'run --help',
  ],
  ['a value for a flag without one', 'run p.dot --json=true', "option '--json' takes no value"],
  ['a name that begins with a dash', 'run -p.dot', "unknown option '-p.dot'", 'it is written ./-p.dot;'],
  ['a misspelt flag', 'run p.dot --workdri x', 'error[usage]: unknown option', 'did you mean --workdir?'],
  ['an unknown effort', 'run p.dot --effort hihg', 'the effort "hihg"', 'did you mean "high"?'],
  ['an unknown agent, though no node needs one', 'run p.dot --agent nope', ': nope (--agent)', 'openai'],
  ['an unknown agent of the main job', `run ${job} --agent opnai`, 'openai'],
  ['openai without a key', `run ${job} --agent openai`, 'OPENAI_API_KEY'],
  ['a script that is missing', 'run p.dot --script nope.json', 'there is no agent script', 'nope.json'],
  ['a script that is a folder', 'run p.dot --script folder', 'folder cannot be read: it is a folder\n'],
  ['a script with a missing answer file', 'run ask.dot --script s.json', 'names no.txt for node "a"'],
  ['a missing file of prices', 'run p.dot --prices no.json', 'no.json, which cannot be read: there is no'],
  ...(
    [
      ['--max-tokens', '9'.repeat(20), 'is too large: the most is 9007199254740991'],
      ['--max-visits', 'many', 'is not a whole number'],
      ['--max-cost-usd', '9'.repeat(400), 'is too large'],
      ['--max-wall', '9'.repeat(400), 'is too long: the most is 104249991d'],
    ] as const
  ).map(
    ([flag, value, why]) =>
      [`${flag} ${value.slice(0, 20)}`, `run p.dot ${flag} ${value}`, `${flag} ${value} ${why}`] as const,
  ),
  [
    'a secret that cannot be a variable',
    "run p.dot --env-pass 'A_KEY, B_TOKEN C_KEY'",
    '"B_TOKEN C_KEY" is not the name of a variable',
  ],
  [
    'less and more output at once',
    'run p.dot --quiet -v',
    "option '-q, --quiet' cannot be used with option '-v, --verbose'",
  ],
  ...['--now', '--accept-changes', '--take-over'].map(
    (flag) => [`${flag} of a new run`, `run p.dot ${flag}`, `${flag} goes with --resume`] as const,
  ),
];
test.for(rows)(
  'a run that cannot start is refused with exit code 2, and nothing is created: %s',
  async ([, line, ...wants]) => {
    const words = line.match(/'[^']*'|[^ ']\S*/g) ?? [];
    const ran = await it.factory(words.map((word) => word.replace(/^'(.*)'$/, '$1')));
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stdout).toBe('');
    for (const word of wants) expect(ran.stderr).toContain(word);
    expect(ran.stderr).not.toMatch(/^\s+at .*\.js:\d+/m);
    expect(await it.list('.')).toEqual(before);
  },
);

test('a removed working directory is reported in one sentence', async () => {
  await using it = await home({ 'gone/x': '' });
  const words = 'cd gone && rm -r ../gone && exec "$0" "$1" runs';
  const shell = spawnSync('sh', ['-c', words, process.execPath, cli], { cwd: it.path, encoding: 'utf8' });
  expect(shell.stderr).toMatch(/^error\[cwd\]: the folder .* does not exist any more\n {2}= fix: [^\n]+\n$/);
  expect(shell.status).toBe(2);
});

test('an existing run id is refused, and the old run stays unchanged', async () => {
  await using it = await home({ 'p.dot': good });
  expect((await it.factory(['run', 'p.dot', '--run-id', 'r1'])).code).toBe(0);
  const events = await it.read('.factory/runs/r1/events.jsonl');
  const again = await it.factory(['run', 'p.dot', '--run-id', 'r1']);
  expect(again.code).toBe(2);
  expect(again.stderr).toMatch(/^ {2}= fix: resume it: factory resume r1;/m);
  expect(await it.read('.factory/runs/r1/events.jsonl')).toBe(events);
});

describe('a model that misbehaves', () => {
  // Only a hanging model may reach the time limit, however slow the machine.
  const ask = (timeout: string) =>
    `digraph g { start [shape=Mdiamond] ask [prompt="hi", timeout=${timeout}, max_retries=0] exit [shape=Msquare] start -> ask -> exit }`;
  test.for([
    ['hangs', { hang: true }, 3, /within 2 s/],
    ['answers with 20 MB', { huge: 20 * 1024 * 1024 }, 4, /10 MiB|10485760|larger|longer/],
    ['answers 400', { status: 400, body: { error: { message: 'bad schema' } } }, 3, /bad schema/],
  ] as const)('%s: the stage fails, the run says why', async ([, reaction, code, says]) => {
    await using server = await startModelServer(() => reaction);
    await using it = await home({ 'p.dot': ask('hang' in reaction ? '2s' : '2m') });
    const ran = await it.factory(['run', 'p.dot', '--run-id', 'r1'], {
      env: { OPENAI_API_KEY: 'sk-test-0123456789', OPENAI_BASE_URL: server.url },
    });
    expect(ran.code, ran.stderr).toBe(code);
    expect(ran.stdout).toMatch(says);
    expect(await it.json('.factory/runs/r1/result.json')).toMatchObject({
      status: 'failed',
      failed_node: 'ask',
    });
  });
});

test('a dirty repository is refused before anything is created, and --allow-dirty accepts it', async () => {
  const { execa } = await import('execa');
  await using it = await home({ 'w/a.txt': 'one\n' });
  const git = (...args: string[]) =>
    execa('git', ['-c', 'user.name=A', '-c', 'user.email=a@b.c', ...args], {
      cwd: join(it.path, 'w'),
      env: { HOME: it.path },
    });
  await git('init', '-q');
  await git('add', '-A');
  await git('commit', '-qm', 'first');
  await writeFile(join(it.path, 'w/a.txt'), 'two\n');
  await mkdir(join(it.path, 'runs'));
  const refused = await it.factory(['run', job, '--workdir', 'w', '--runsdir', 'runs', '--run-id', 'r1']);
  expect(refused.code, refused.stderr).toBe(2);
  expect(refused.stderr).toContain('--allow-dirty');
  expect(await it.list('runs')).toEqual([]);
});

test('a failed run prints the output of the node and the next command, and is in the list of runs', async () => {
  const pipeline = `digraph f { workdir="none" start [shape=Mdiamond]
    check [shape=parallelogram, tool_command="echo expected 3 to be 4 >&2; exit 3"]
    exit [shape=Msquare] bad [shape=Msquare, outcome=fail]
    start -> check  check -> exit [condition="outcome=success"]  check -> bad [condition="outcome=fail"] }`;
  await using it = await home({ 'f.dot': pipeline, 'p.dot': good });
  const ran = await it.factory(['-q', 'run', 'f.dot', '--run-id', 'r1']);
  expect(ran.code).toBe(1);
  expect(ran.stderr).toBe('');
  expect(ran.stdout).toContain('expected 3 to be 4');
  expect(ran.stdout).toMatch(
    /next +factory fork r1 --at check --before --pipeline \S+ # after a change of check/m,
  );
  // A resume of a finished run changes nothing and prints the same figures.
  const again = await it.factory(['resume', 'r1', '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({ exit_code: 1, failed_stages: 1, agent: 'none' });
  await it.factory(['run', 'p.dot', '--run-id', 'r2']);
  const listed = await it.factory(['runs']);
  expect(listed.code).toBe(0);
  expect(listed.stdout).toMatch(
    /\nr2 +✓ completed +p\.dot .*\nr1 +✗ failed +f\.dot .*check: expected 3 to be 4/,
  );
  expect(listed.stdout.trimEnd()).toMatch(/\nnext: factory fork r1 --at check --before --pipeline [^\n]*$/);
  const { runs } = JSON.parse((await it.factory(['runs', '--json'])).stdout);
  expect(runs).toMatchObject([
    { run_id: 'r2', status: 'completed', needs_attention: false, next: '' },
    { run_id: 'r1', status: 'failed', needs_attention: true, failed_node: 'check' },
  ]);
  expect((await it.factory(['runs', '--runsdir', 'none'])).stdout).toContain('there are no runs in');
});

test.skipIf(process.platform !== 'linux')('a result that cannot be written is no success', async () => {
  const { execa } = await import('execa');
  await using it = await home({ 'p.dot': good });
  for (const words of ['run p.dot', '--version']) {
    const ran = await execa('sh', ['-c', `exec '${process.execPath}' '${cli}' ${words} >/dev/full`], {
      cwd: it.path,
      reject: false,
    });
    expect(ran.exitCode).toBe(1);
    expect(ran.stderr).toMatch(/^factory: standard output cannot be written: .*$/m);
    expect(ran.stderr).not.toContain('node:events');
  }
});

test('invalid flags are also reported on standard output if JSON is requested', async () => {
  await using it = await home();
  const ran = await it.factory(['run', 'p.dot', '--bogus', '--json']);
  expect(ran.code).toBe(2);
  expect(JSON.parse(ran.stdout)).toMatchObject({ status: 'refused', problems: [{ code: 'usage' }] });
});

test('a resume with a damaged snapshot is refused with the name of the file, and changes nothing', async () => {
  await using at = await home({
    'p.dot': `digraph p { workdir="none" start [shape=Mdiamond] exit [shape=Msquare]
      make [shape=parallelogram, tool_command="echo made > made"]
      no [shape=parallelogram, tool_command="exit 1"]
      start -> make -> no  no -> exit [condition="outcome=success"] }`,
  });
  expect((await at.factory(['run', 'p.dot', '--run-id', 'one'])).code).toBe(1);
  const run = join(at.path, '.factory/runs/one');
  await writeFile(join(run, 'contents/pack'), 'm');
  const again = await at.factory(['resume', 'one']);
  expect(again.code).toBe(2);
  expect(again.stderr).toContain('contents/pack is damaged from byte 0 on');
  expect(again.stderr).toContain('start a new run');
  expect(await readFile(join(run, 'workspace/made'), 'utf8')).toBe('made\n');
});
