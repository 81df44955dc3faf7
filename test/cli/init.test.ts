/** `factory init`: what it writes is valid, and runs at once with prepared answers. */
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type TemplateName, templates } from '../../src/app/init.ts';
import { checkPipeline } from '../../src/index.ts';
import { home } from '../support/cli.ts';
import { call } from '../support/verb.ts';

const env = { PATH: process.env['PATH'], FACTORY_SANDBOX: 'none' };
const names = Object.keys(templates) as TemplateName[];

test.each(names)('the template %s has a valid pipeline, its prompts and scenarios', async (template) => {
  await using it = await home();
  const made = await call(['init', 'app'], { template }, { cwd: it.path, env });
  expect(made).toMatchObject({ code: 0, err: '' });
  const cwd = join(it.path, 'app');
  const { pipeline } = templates[template];
  const valid = await call(['validate', pipeline], {}, { cwd, env });
  expect(valid).toMatchObject({ code: 0, err: '' });
  expect(checkPipeline(pipeline, await it.read(`app/${pipeline}`)).found).toEqual([]);
  const folder = template === 'build' ? 'scenarios' : 'scripts/scenarios';
  const scenarios = await it.list(`app/${folder}`);
  expect(scenarios.map((name) => name.replace(/^[a-z]+_/, ''))).toEqual([
    ...(template === 'build' ? ['command_user_scenarios.sh'] : []),
    'component_checks.sh',
    ...(template === 'build' ? ['markdown_user_scenarios.sh'] : []),
    'user_scenarios.sh',
  ]);
  expect(await call(['scenario', 'lint', folder], {}, { cwd, env })).toMatchObject({ code: 0 });
});

test.each(['fix-loop', 'review'] as const)(
  'the template %s runs to its end with its prepared answers',
  async (template) => {
    await using it = await home();
    await call(['init'], { template }, { cwd: it.path, env });
    const { code, out } = await call(
      ['run', template],
      { json: true },
      { cwd: it.path, env: { ...env, HOME: it.path } },
    );
    expect(JSON.parse(out)).toMatchObject({
      status: 'completed',
      failed_stages: template === 'review' ? 1 : 2,
      audit: { errors: 0, warnings: 0 },
      evidence: { judged: { passed: 2, total: 2 } },
    });
    expect(code).toBe(0);
  },
);

test.each(['fix-loop', 'review'] as const)(
  'the command that the pipeline of the template %s names shows a way to success',
  async (template) => {
    await using it = await home();
    const doors = { cwd: it.path, env };
    await call(['init'], { template }, doors);
    const [, pipeline = '', outcome = ''] =
      /factory simulate (\S+) --outcome (\S+)/.exec(await it.read(templates[template].pipeline)) ?? [];
    const { code, out } = await call(['simulate', pipeline], { outcome: [outcome] }, doors);
    expect(out).toContain('✓ success');
    expect(code).toBe(0);
  },
);

test('a file that is there is not replaced, and nothing is written', async () => {
  await using it = await home({ 'test.sh': 'mine\n' });
  const { code, err } = await call(['init'], {}, { cwd: it.path, env });
  expect(code).toBe(2);
  expect(err).toContain('has test.sh already');
  expect(await it.list('.')).toEqual(['test.sh']);
});

test.for([
  ['a link that leads nowhere', 'app', 'app is a symbolic link that leads nowhere (to /missing/x)'],
  ['a link above it that leads nowhere', 'app/deep', 'app is a symbolic link that leads nowhere'],
  ['a file', 'test.sh', 'test.sh is no folder'],
  ['a folder below a file', 'test.sh/deep', 'test.sh is no folder'],
  ['a loop of links', 'loop', 'loop is a symbolic link that leads nowhere'],
  [
    'a folder in which a link that leads nowhere is in the place of a folder',
    'in',
    'in/scripts is a symbolic link',
  ],
  [
    'a folder in which a link that leads nowhere is in the place of a file',
    'file',
    'file has test.sh already',
  ],
] as const)('%s is refused, with the reason, and nothing is written', async ([, name, why]) => {
  await using it = await home({ 'test.sh': 'mine\n', 'in/mine': '', 'file/mine': '' });
  symlinkSync('/missing/x', join(it.path, 'app'));
  symlinkSync('loop', join(it.path, 'loop'));
  symlinkSync('/missing/x', join(it.path, 'in/scripts'));
  symlinkSync('/missing/x', join(it.path, 'file/test.sh'));
  const before = await it.list('.');
  const { code, err } = await call(['init', name], {}, { cwd: it.path, env });
  expect(err).toContain(why);
  expect(code).toBe(2);
  expect(await it.list('.')).toEqual(before);
  expect([await it.list('in'), await it.list('file')]).toEqual([
    ['mine', 'scripts'],
    ['mine', 'test.sh'],
  ]);
});
