/** Bad input gets a clear message and the right exit code, and leaves no partial files. */
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli, home, root } from '../support/in-process.ts';
import { startModelServer } from '../support/model-server.ts';

const good = 'digraph g { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }';
const job = join(root, 'pipelines/compile-and-build.dot');

describe('a run that cannot start is refused with exit code 2, and nothing is created', () => {
  const rows: readonly {
    says: string;
    args: readonly string[];
    files?: Record<string, string>;
    wants: readonly string[];
  }[] = [
    { says: 'no pipeline', args: ['run'], wants: ['no pipeline file is named'] },
    {
      says: 'a resume of a missing run',
      args: ['run', '--resume'],
      wants: ['--resume needs --run-id', ' resume RUN', ' runs lists the runs'],
    },
    {
      says: 'a missing pipeline',
      args: ['run', 'nowhere.dot'],
      wants: ['there is no pipeline file nowhere.dot'],
    },
    {
      says: 'a dash, which is a file name and not standard input',
      args: ['run', '-'],
      wants: ['there is no pipeline file -', 'standard input is /dev/stdin'],
    },
    { says: 'a folder', args: ['run', 'folder'], files: { 'folder/x': '' }, wants: ['folder is a folder'] },
    {
      says: 'a file below a file',
      args: ['run', 'p.dot/x'],
      files: { 'p.dot': good },
      wants: ['there is no pipeline file p.dot/x'],
    },
    {
      says: 'a name that is too long',
      args: ['run', 'x'.repeat(5000)],
      wants: ['error[pipeline-file]', 'the name is too long'],
    },
    { says: 'a name that is empty', args: ['run', ''], wants: ['the name of the pipeline file is empty'] },
    { says: 'an empty file', args: ['run', 'p.dot'], files: { 'p.dot': '' }, wants: ['p.dot'] },
    {
      says: 'a binary file',
      args: ['run', 'p.dot'],
      files: { 'p.dot': '\u0000\u0001\u0002' },
      wants: ['p.dot'],
    },
    {
      says: 'a truncated file',
      args: ['run', 'p.dot'],
      files: { 'p.dot': good.slice(0, -3) },
      wants: ['p.dot:1:'],
    },
    {
      says: 'a huge file that is not a pipeline',
      args: ['run', 'p.dot'],
      files: { 'p.dot': 'a -> '.repeat(1_000_000) },
      wants: ['p.dot'],
    },
    {
      says: 'an unknown flag',
      args: ['run', 'p.dot', '--bogus'],
      files: { 'p.dot': good },
      wants: ['--bogus'],
    },
    {
      says: 'a flag without its value',
      args: ['run', 'p.dot', '--workdir'],
      files: { 'p.dot': good },
      wants: ['--workdir'],
    },
    {
      says: 'a flag with an empty value',
      args: ['run', 'p.dot', '--workdir='],
      files: { 'p.dot': good },
      wants: ['--workdir'],
    },
    // An unset shell variable: the current folder was not meant.
    ...[
      ['order', 'run', '--work-order', 'o.json', '--repo='],
      ['order', 'run', '--repo', 'r', '--work-order', 'o.json', '--out='],
      ['order', 'run-all', '--repo', 'r', '--workdir', 'w', '--artifacts-dir='],
      ['plan', 'p.dot', '--overwrite', '--outdir='],
      ['deliver', 'r', '--to='],
    ].map((args) => ({
      says: `an empty value: ${args.join(' ')}`,
      args,
      files: { 'p.dot': good },
      wants: [`${args.at(-1)?.slice(0, -1)} <dir>' argument '' is invalid`],
    })),
    {
      says: 'a run id that leaves the runs directory',
      args: ['run', 'p.dot', '--run-id', '../x'],
      files: { 'p.dot': good },
      wants: ['--run-id', '../x'],
    },
    {
      says: 'an undeclared variable',
      args: ['run', 'p.dot', '--var', 'x=1'],
      files: { 'p.dot': good },
      wants: ['--var x'],
    },
    {
      says: 'a variable without a value',
      args: ['run', 'p.dot', '--var', 'x'],
      files: { 'p.dot': good },
      wants: ['NAME=VALUE'],
    },
    {
      says: 'a workdir that is missing',
      args: ['run', 'p.dot', '--workdir', 'gone'],
      files: { 'p.dot': good },
      wants: ['workdir', 'gone'],
    },
    {
      says: 'a workdir that is a file',
      args: ['run', 'p.dot', '--workdir', 'p.dot'],
      files: { 'p.dot': good },
      wants: ['workdir'],
    },
    {
      says: 'a runs directory that is the workdir',
      args: ['run', 'p.dot', '--workdir', 'w', '--runsdir', 'w'],
      files: { 'p.dot': good, 'w/x': '' },
      wants: ['w'],
    },
    {
      says: 'a runs directory that contains the workdir',
      args: ['run', 'p.dot', '--workdir', 'w/in', '--runsdir', 'w'],
      files: { 'p.dot': good, 'w/in/x': '' },
      wants: ['w'],
    },
    {
      says: 'a spec that is missing',
      args: ['run', job, '--var', 'spec=gone.md'],
      wants: ['spec', 'gone.md'],
    },
    {
      says: 'a spec that is empty',
      args: ['run', job, '--var', 'spec=s.md'],
      files: { 's.md': ' \n' },
      wants: ['s.md is empty'],
    },
    {
      says: 'a runs directory where no folder can be created',
      args: ['run', 'p.dot', '--runsdir', '/proc/here/runs'],
      files: { 'p.dot': good },
      wants: ['/proc/here/runs cannot be made', 'name another folder with --runsdir'],
    },
    {
      says: 'a runs directory whose name is too long',
      args: ['run', 'p.dot', '--runsdir', `new/${'r'.repeat(300)}`],
      files: { 'p.dot': good },
      wants: ['the name is too long', '--runsdir'],
    },
    {
      says: 'a flag instead of a value',
      args: ['run', 'p.dot', '--workdir', '--json-is-no-value'],
      files: { 'p.dot': good },
      wants: ['--workdir <dir>', 'argument missing', '= fix: factory', 'run --help'],
    },
    {
      says: 'a value for a flag that takes none',
      args: ['run', 'p.dot', '--json=true'],
      files: { 'p.dot': good },
      wants: ["error[usage]: option '--json' takes no value", 'write --json;'],
    },
    {
      says: 'a name that begins with a dash',
      args: ['run', '-p.dot'],
      files: { '-p.dot': good },
      wants: ["error[usage]: unknown option '-p.dot'", 'as a name it is written ./-p.dot;'],
    },
    {
      says: 'an effort that does not exist, though no node needs one',
      args: ['run', 'p.dot', '--effort', 'hihg'],
      files: { 'p.dot': good },
      wants: ['--effort asks for the effort "hihg"', 'did you mean "high"?'],
    },
    {
      says: 'a misspelt flag',
      args: ['run', 'p.dot', '--workdri', 'x'],
      files: { 'p.dot': good },
      wants: ['error[usage]: unknown option', 'did you mean --workdir?'],
    },
    {
      says: 'an agent that does not exist, though no node needs one',
      args: ['run', 'p.dot', '--agent', 'nope'],
      files: { 'p.dot': good },
      wants: [': nope (--agent)', 'openai'],
    },
    {
      says: 'a script that is missing, though no node needs one',
      args: ['run', 'p.dot', '--script', 'nope.json'],
      files: { 'p.dot': good },
      wants: ['there is no agent script', 'nope.json'],
    },
    {
      says: 'a script that is a folder',
      args: ['run', 'p.dot', '--script', 'folder'],
      files: { 'p.dot': good, 'folder/x': '' },
      wants: ['folder cannot be read: it is a folder\n'],
    },
    {
      says: 'a script that names a missing answer',
      args: ['run', 'p.dot', '--script', 's.json'],
      files: {
        'p.dot': 'digraph g { start [shape=Mdiamond] a [prompt=x] exit [shape=Msquare] start -> a -> exit }',
        's.json': '{"format":"factory-script/1","answers":{"a":[{"file":"no.txt"}]}}',
      },
      wants: ['names no.txt for node "a", which cannot be read: there is no such file\n'],
    },
    {
      says: 'a missing file of prices',
      args: ['run', 'p.dot', '--prices', 'no.json'],
      files: { 'p.dot': good },
      wants: ['no.json, which cannot be read: there is no such file\n'],
    },
    {
      says: 'a spec without a name',
      args: ['run', job, '--var', 'spec='],
      wants: ['variable "spec" names no file', '--var spec=FILE'],
    },
    { says: 'an agent that does not exist', args: ['run', job, '--agent', 'opnai'], wants: ['openai'] },
    { says: 'openai without a key', args: ['run', job, '--agent', 'openai'], wants: ['OPENAI_API_KEY'] },
    {
      says: 'a workdir that is the whole file system',
      args: ['run', 'p.dot', '--workdir', '/'],
      files: { 'p.dot': good },
      wants: ['the workdir / is the whole file system'],
    },
    ...[
      ['--max-tokens', '9'.repeat(20), 'is too large: the most is 9007199254740991'],
      ['--max-steps', '9'.repeat(20), 'is too large: the most is 9007199254740991'],
      ['--max-visits', 'many', 'is not a whole number of at least 1'],
      ['--max-cost-usd', '9'.repeat(400), 'is too large'],
      ['--max-wall', '9'.repeat(400), 'is too long: the most is 104249991d'],
    ].map(([flag = '', value = '', why = '']) => ({
      says: `${flag} ${value.slice(0, 20)}`,
      args: ['run', 'p.dot', flag, value],
      files: { 'p.dot': good },
      wants: [`error[usage]: ${flag} ${value} ${why}`],
    })),
    {
      says: 'a secret that cannot be a variable',
      args: ['run', 'p.dot', '--env-pass', 'A_KEY, B_TOKEN C_KEY'],
      files: { 'p.dot': good },
      wants: ['error[usage]: --env-pass: "B_TOKEN C_KEY" is no name of a variable', 'A_KEY,B_TOKEN'],
    },
    ...['run p.dot', 'resume r1', 'plan s.md', 'order run'].map((words) => ({
      says: `${words} that is to say less and more`,
      args: [...words.split(' '), '--quiet', '-v'],
      files: { 'p.dot': good },
      wants: ["error[usage]: option '-q, --quiet' cannot be used with option '-v, --verbose'"],
    })),
    ...['--now', '--accept-changes', '--take-over'].map((flag) => ({
      says: `${flag} of a run that begins`,
      args: ['run', 'p.dot', flag],
      files: { 'p.dot': good },
      wants: [`error[usage]: ${flag} goes with --resume`, `resume ID ${flag}`],
    })),
    {
      says: 'a resume without an id',
      args: ['run', 'p.dot', '--resume'],
      files: { 'p.dot': good },
      wants: ['--run-id'],
    },
  ];
  test.for(rows)('$says', async ({ args, files = {}, wants }) => {
    await using it = await home(files);
    const before = await it.list('.');
    const ran = await it.factory(args);
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stdout).toBe('');
    for (const word of wants) expect(ran.stderr).toContain(word);
    expect(ran.stderr).not.toMatch(/^\s+at .*\.js:\d+/m);
    expect(await it.list('.')).toEqual(before);
  });
});

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

test('an agent script with a missing answer is refused with its name', async () => {
  const pipeline =
    'digraph g { agent_script="a.json" start [shape=Mdiamond] ask [prompt="hi"] exit [shape=Msquare] start -> ask -> exit }';
  await using it = await home({
    'p.dot': pipeline,
    'a.json': '{"format":"factory-script/1","answers":{"other":[{"text":"x"}]}}',
  });
  const ran = await it.factory(['run', 'p.dot']);
  expect(ran.code).toBe(1);
  expect(ran.stdout).toContain('ask');
  expect(ran.stderr).toMatch(/answer/);
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
  expect(ran.stdout).toMatch(/next +factory trace r1 --node check$/m);
  // A resume of a finished run changes nothing and prints the same figures.
  const again = await it.factory(['resume', 'r1', '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({ exit_code: 1, failed_stages: 1, agent: 'none' });
  await it.factory(['run', 'p.dot', '--run-id', 'r2']);
  const listed = await it.factory(['runs']);
  expect(listed.code).toBe(0);
  expect(listed.stdout).toMatch(
    /\nr2 +completed +p\.dot .*\nr1 +failed +f\.dot .*expected|\nr1 +failed +f\.dot .*bad: check/,
  );
  expect(listed.stdout.trimEnd()).toMatch(/\nnext: factory trace r1 --node check$/);
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

test('a text that is not a pipeline is not also linted as a graph', async () => {
  await using it = await home({
    'g.dot': 'graph g { a -- b }',
    'i.dot': 'digraph i { start -> 1a -> exit; b-c -> exit }',
  });
  const ran = await it.factory(['validate', 'g.dot', 'i.dot', '--json']);
  const codes = JSON.parse(ran.stdout).files.map((file: { diagnostics: { code: string }[] }) =>
    file.diagnostics.map((d) => d.code),
  );
  expect(codes).toEqual([
    ['undirected-graph', 'undirected-edge'],
    ['bad-id', 'bad-id'],
  ]);
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
  await writeFile(join(run, 'snapshots/pack'), 'm');
  const again = await at.factory(['resume', 'one']);
  expect(again.code).toBe(2);
  expect(again.stderr).toContain('snapshots/pack has 1 bytes where 5 were written');
  expect(again.stderr).toContain('start a new run');
  expect(await readFile(join(run, 'workspace/made'), 'utf8')).toBe('made\n');
});
