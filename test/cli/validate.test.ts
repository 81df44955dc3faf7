import { chmod, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { home } from '../support/in-process.ts';
import { call } from '../support/verb.ts';

async function validated(files: Record<string, string>, flags: readonly string[] = [], terminal = false) {
  await using it = await home(files);
  const words = ['validate', ...flags, ...Object.keys(files)];
  const { code, stdout, stderr } = await it.factory(words, { terminal });
  return { code, out: stdout, err: stderr };
}
const good = 'digraph g { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }';

test('a valid pipeline is reported with its size', async () => {
  expect(await validated({ 'a.dot': good })).toEqual({
    code: 0,
    out: 'a.dot: ok (2 nodes, 1 edge)\n',
    err: '',
  });
});

test('one bad pipeline among good ones gives exit code 2, with its line and a caret', async () => {
  const { code, out, err } = await validated({
    'a.dot': good,
    'b.dot': good.replace('start ->', 'nowhere -> exit start ->'),
  });
  expect(code).toBe(2);
  expect(out).toContain('b.dot: 1 error');
  expect(err).toMatch(/error\[unreachable\]: .*unreachable \(orphan\)/);
  expect(err).toMatch(/\^{7}/);
});

test('with --json everything is on standard output: counts, codes, places, fixes', async () => {
  const { code, out, err } = await validated({ 'b.dot': good.replace('exit [', 'exit [max_visits=-1, ') }, [
    '--json',
  ]);
  expect({ code, err }).toEqual({ code: 2, err: '' });
  expect(JSON.parse(out)).toMatchObject({
    files: [
      {
        file: 'b.dot',
        ok: false,
        nodes: 2,
        undeclared: 0,
        edges: 1,
        diagnostics: [
          {
            code: 'attribute-value',
            severity: 'error',
            place: { file: 'b.dot', span: { start: { line: 1 } } },
          },
        ],
      },
    ],
  });
});

test('a missing prompt file is found before a run', async () => {
  const { code, err } = await validated({
    'p.dot': good.replace('start ->', 'a [prompt="@gone.md"] start -> a ->'),
  });
  expect(code).toBe(2);
  expect(err).toContain('gone.md');
});

test('attributes of the holdout are known, and invalid ones are errors with their place', async () => {
  const sealed = (more: string) => `digraph g {
  holdout="judge/" holdout_from="../judge"
  start [shape=Mdiamond] exit [shape=Msquare]
  t [shape=parallelogram, tool_command="true", sees_holdout=false]
  a [prompt="work", "openai.allow_read_scenarios"=true${more}]
  start -> t -> a -> exit
}`;
  const known = await validated({ 'p.dot': sealed('') });
  expect(known.err).not.toMatch(/holdout|allow_read/);
  expect(known.code).toBe(0);
  const wrong = await validated({ 'p.dot': sealed(', sees_holdout=true').replace('judge/', './') });
  expect(wrong.code).toBe(2);
  expect(wrong.err).toMatch(/error\[holdout\]: holdout: ".\/" is the whole workspace/);
  expect(wrong.err).toMatch(/error\[sees-holdout\]: sees_holdout=true on codergen node "a"/);
  // The caret is below the value, not below the node.
  expect(wrong.err).toMatch(/\n *\| {60,}\^{4}\n/);
});

test('of a repeated mistake a terminal gets the first twenty and a count; a pipe and --json get all', async () => {
  const nodes = Array.from({ length: 50 }, (_, n) => `n${n} [shape=box]`);
  const names = nodes.map((_, n) => `n${n}`).join(' -> ');
  const files = {
    'a.dot': `digraph g { start [shape=Mdiamond] exit [shape=Msquare, max_visits=-1] ${nodes.join('\n')} start -> ${names} -> exit }`,
  };
  const drawn = (err: string) => err.match(/^warning\[empty-prompt\]/gm)?.length;
  const shown = await validated(files, ['--no-color'], true);
  expect(drawn(shown.err)).toBe(20);
  expect(shown.err).toContain('\nand 30 more of empty-prompt (');
  expect(shown.err).toContain('error[attribute-value]');
  expect(shown.out).toContain('1 error, 53 warnings');
  expect(drawn((await validated(files)).err)).toBe(50);
  const { out } = await validated(files, ['--json'], true);
  expect(JSON.parse(out).files[0].diagnostics.length).toBe(54);
});

test.for([
  ['agent=comand', 'agent-unknown', 'comand'],
  ['agent="fake,stubb"', 'agent-unknown', '"fake,stubb"'],
  ['agent="fake,fake"', 'agent-list', '"fake,fake"'],
])('%s is an error, as in a run', async ([said = '', code = '', marked = '']) => {
  const text = `digraph g { start; exit; node [prompt=x, ${said}] a; b; start -> a -> b -> exit }`;
  const { code: exit, out } = await validated({ 'a.dot': text }, ['--json']);
  const { diagnostics } = JSON.parse(out).files[0];
  const errors = diagnostics.filter((d: { severity: string }) => d.severity === 'error');
  const { start, end } = errors[0].place.span;
  expect([exit, errors.length, errors[0].code]).toEqual([2, 1, code]);
  expect(text.slice(start.offset, end.offset)).toBe(marked);
});

test('a pipeline is valid although its agents are not installed', async () => {
  const text = good.replace('start ->', 'a [prompt=x, agent="openai,scripted,codex"] start -> a ->');
  expect((await validated({ 'a.dot': text })).code).toBe(0);
});

const slip = good.replace('exit [', 'a [promt="x", prompt="y"] exit [').replace('-> exit', '-> a -> exit');

test('--fix prints the difference and changes nothing where nobody can agree to it', async () => {
  await using it = await home({ 'a.dot': slip.replace(', prompt="y"', '') });
  const { code, stdout } = await it.factory(['validate', '--fix', 'a.dot']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^--- a\.dot\n\+\+\+ a\.dot\n@@ -1,1 \+1,1 @@\n-.*promt=.*\n.*\+.*prompt=/s);
  expect(stdout).toContain('nothing was changed; --fix --yes fixes 1 mistake in a.dot\na.dot: 1 warning');
  expect(await it.read('a.dot')).toContain('promt');
});

test.for([
  ['\r', 'nothing was changed', 'promt'],
  ['y', 'fixed 1 mistake in a.dot', 'prompt'],
] as const)('--fix asks a person on a terminal; after %j: %s', async ([key, said, written]) => {
  await using it = await home({ 'a.dot': slip.replace(', prompt="y"', '') });
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = '';
  output.on('data', (piece: Buffer) => {
    shown += piece;
  });
  const terminal = { input, output, interrupt: () => {} };
  const ended = call(['validate', 'a.dot'], { fix: true }, { cwd: it.path, env: {}, terminal });
  await expect.poll(() => shown).toContain('Fix 1 mistake in a.dot?');
  input.write(key);
  expect((await ended).out).toContain(said);
  expect(await it.read('a.dot')).toContain(`[${written}="x"`);
});

test('--fix --yes writes what is certain, reports what is left, and keeps the permissions', async () => {
  await using it = await home({ 'a.dot': slip.replace(', prompt="y"', ', max_visits=none'), 'b.dot': good });
  await chmod(join(it.path, 'a.dot'), 0o640);
  const { code, stdout, stderr } = await it.factory(['validate', '--fix', '--yes', 'a.dot', 'b.dot']);
  expect(code).toBe(2);
  expect(stdout).toContain('fixed 1 mistake in a.dot\na.dot: 1 error');
  expect(stdout).toContain('b.dot: ok');
  expect(stderr).toContain('max_visits "none" is not a whole number');
  expect(await it.read('a.dot')).toContain('[prompt="x"');
  expect((await stat(join(it.path, 'a.dot'))).mode & 0o777).toBe(0o640);
});

test('--fix --json has the difference of each file, and says whether it was written', async () => {
  await using it = await home({ 'a.dot': slip.replace(', prompt="y"', '') });
  const { stdout } = await it.factory(['validate', '--fix', '--json', 'a.dot']);
  expect(JSON.parse(stdout)).toMatchObject({
    files: [{ file: 'a.dot', fixes: 1, fixed: false, difference: expect.stringContaining('\n+') }],
  });
});

test('--yes and --watch go with what they are for', async () => {
  await using it = await home({ 'a.dot': good });
  expect((await it.factory(['validate', '--yes', 'a.dot'])).stderr).toContain(
    '--yes answers the question of --fix',
  );
  expect((await it.factory(['validate', '--fix', '--watch', 'a.dot'])).code).toBe(2);
});

test('--watch reports again when the pipeline or a prompt of it has changed, until the signal', async () => {
  await using it = await home({
    'a.dot': good.replace('start ->', 'a [prompt="@p/a.md"] start -> a ->'),
    'p/b.md': '',
  });
  const ending = new AbortController();
  const seen: string[] = [];
  let next = (): void => {};
  const line = (): Promise<void> => new Promise((done) => (next = done));
  let came = line();
  const ended = call(
    ['validate', 'a.dot'],
    { watch: true },
    {
      ...{ cwd: it.path, env: {}, signal: () => ending.signal },
      out: (text) => {
        seen.push(text.trim());
        next();
      },
    },
  );
  await came;
  came = line();
  await writeFile(join(it.path, 'p/a.md'), 'Fix it');
  await came;
  came = line();
  await writeFile(join(it.path, 'a.dot'), good.replace('-> exit', '-> '));
  await came;
  ending.abort();
  expect((await ended).code).toBe(130);
  expect(seen).toEqual([
    'a.dot: 1 error (3 nodes, 2 edges)',
    'a.dot: ok (3 nodes, 2 edges)',
    'a.dot: 1 error',
  ]);
});
