import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { invocationOf, programWords, sameAgain } from '../../src/cli/arguments.ts';
import { temp } from '../platform/temp.ts';
import { call } from '../support/verb.ts';

test('a program on PATH is named by its name, and by its path if PATH has another one or none', async () => {
  await using it = await temp();
  const cli = it.at('my house', 'dist', 'cli.js');
  await mkdir(it.at('my house', 'dist'), { recursive: true });
  await mkdir(it.at('bin'));
  await mkdir(it.at('other'));
  await writeFile(cli, '');
  await chmod(cli, 0o755);
  await symlink(cli, it.at('bin', 'factory'));
  await writeFile(it.at('other', 'factory'), '', { mode: 0o755 });
  const env = (PATH: string) => ({ PATH });
  expect(programWords(it.at('bin', 'factory'), env(`/nowhere:${it.at('bin')}`), it.dir)).toBe('factory');
  expect(programWords(cli, env(it.at('bin')), it.dir)).toBe('factory');
  expect(programWords(cli, env(it.at('other')), it.at('other'))).toBe(`node '${cli}'`);
  expect(programWords(cli, {}, it.dir)).toBe("node 'my house/dist/cli.js'");
});

const npx = { npm_command: 'exec', npm_lifecycle_event: 'npx' };

test.for([
  ['factory', "'factory' 'run'"],
  ['factory', 'factory'],
  ['dotfactory', 'dotfactory run'],
])('the installed package is called by its own name where npx has started %s by "%s"', ([name, words]) => {
  const script = `/x/node_modules/.bin/${name}`;
  expect(programWords(script, { ...npx, npm_lifecycle_script: words }, '/')).toBe('npx dotfactory');
});

test('npx in a clone is named npx factory, and one that runs another program not at all', async () => {
  await using it = await temp();
  const cli = it.at('clone', 'dist', 'cli.js');
  await mkdir(it.at('clone', 'dist'), { recursive: true });
  await writeFile(cli, '');
  const script = it.at('node_modules', '.bin', 'factory');
  await mkdir(it.at('node_modules', '.bin'), { recursive: true });
  await symlink(cli, script);
  expect(programWords(script, { ...npx, npm_lifecycle_script: 'factory run' }, '/')).toBe('npx factory');
  expect(programWords(cli, { ...npx, npm_lifecycle_script: 'vitest run' }, '/y')).toBe(`node ${cli}`);
});

test('a script of a package manager has its programs on a PATH that its user has not', async () => {
  await using it = await temp();
  const cli = it.at('node_modules', 'dotfactory', 'dist', 'cli.js');
  await mkdir(it.at('node_modules', 'dotfactory', 'dist'), { recursive: true });
  await mkdir(it.at('node_modules', '.bin'));
  await writeFile(cli, '', { mode: 0o755 });
  const script = it.at('node_modules', '.bin', 'factory');
  await symlink(cli, script);
  const env = { PATH: it.at('node_modules', '.bin') };
  expect(programWords(script, { ...env, npm_lifecycle_event: 'build' }, it.dir)).toBe('npx dotfactory');
  expect(programWords(script, env, it.dir)).toBe('factory');
});

test('the same command again is quoted, and names no run', () => {
  const argv = ['run', 'my p.dot', '--run-id', 'r1', '--var', 'x=a b', '--run-id=r2', '--json'];
  expect(sameAgain('npx factory', argv)).toBe("npx factory run 'my p.dot' --var 'x=a b' --json");
});

test.for([
  ['runs'],
  ['run', 'p.dot', '--resume', '--run-id', 'r1'],
  ['order', 'run', '--run-id=r1', '-resume'],
])('%j starts no run that could be started again', (argv) => {
  expect(sameAgain('factory', argv)).toBeUndefined();
});

test.for<readonly [string, string]>([
  ['resume it: factory resume r1', 'resume it: npx factory resume r1'],
  [
    '`factory runs` lists them; factory --help shows more',
    '`npx factory runs` lists them; npx factory --help shows more',
  ],
  ['factory logs --help, factory diff r1', 'npx factory logs --help, npx factory diff r1'],
  ['for example: factory fork r1 --at a', 'for example: npx factory fork r1 --at a'],
  ['the factory runner, /opt/factory run', 'the factory runner, /opt/factory run'],
])('in "%s" only commands are changed', ([text, wanted]) => {
  expect(invocationOf(text, 'npx factory')).toBe(wanted);
  expect(invocationOf(wanted, 'npx factory'), 'twice').toBe(wanted);
});

test('commands that are printed can be typed where only npx has the program', async () => {
  await using it = await temp();
  const npx = { program: 'npx dotfactory' };
  const told = async (...words: readonly string[]) => {
    const { out, err } = await call(
      words,
      {},
      { cwd: it.dir, env: { PATH: process.env['PATH'] }, called: npx },
    );
    return `${out}${err}`;
  };
  const greet = `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]
    a [shape=parallelogram, tool_command="true"]; b [shape=parallelogram, tool_command="true"]; start -> a -> b -> exit }`;
  await writeFile(it.at('greet.dot'), greet);
  expect(await told('init', 'made')).toContain(
    '  npx dotfactory run fix-loop\n  npx dotfactory simulate fix-loop\n',
  );
  expect(await told('pipelines')).toContain('run one: npx dotfactory run NAME');
  expect(await told('validate', 'nope.dot')).toContain('a pipeline that npx dotfactory pipelines lists');
  for (const verb of ['validate', 'run'])
    expect(await told(verb, 'greet.dot')).toContain(
      'show: npx dotfactory simulate greet.dot --outcome a=fail',
    );
  expect(await told('schedule', 'list')).toContain('make one: npx dotfactory schedule ');
  expect(await told('queue', 'set')).toContain('nothing is set: npx dotfactory queue set ');
});
