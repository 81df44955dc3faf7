/** Completion scripts, asked as a shell asks them. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { home } from '../support/cli.ts';
import { call } from '../support/verb.ts';

const script = async (shell: string, cwd = import.meta.dirname) =>
  (await call(['completion', shell], {}, { cwd, env: { PATH: process.env['PATH'] } })).out;

test('bash completes commands, steps, flags, pipelines and runs', async () => {
  await using it = await home({
    '.factory/runs/01ABC/manifest.json': '{}',
    '.factory/runs/queue/held/0999+001795938007259+nightly-1+big,gpu.json': '{}',
    'mine.dot': '',
  });
  const asked = [
    ['sim'],
    ['order', 'run-'],
    ['run', '--max-c'],
    ['run', 'compile-'],
    ['validate', 'mi'],
    ['resume', '01'],
    ['logs', 'la'],
    ['init', '--template', 're'],
    ['completion', 'z'],
    ['queue', 'mo'],
    ['queue', 'move', 'ni'],
    ['show', 'que'],
  ];
  const lines = asked.map(
    (words) =>
      `COMP_WORDS=(factory ${words.join(' ')}); COMP_CWORD=${words.length}; _factory; echo "\${COMPREPLY[@]}"`,
  );
  const text = `${await script('bash')}\n${lines.join('\n')}`;
  const out = execFileSync('bash', ['-c', text], { cwd: it.path, encoding: 'utf8' });
  expect(out.split('\n')).toEqual([
    'simulate',
    'run-all',
    '--max-cost-usd',
    'compile-and-build',
    'mine.dot',
    '01ABC',
    'latest',
    'review',
    'zsh',
    'move',
    'nightly-1',
    '',
    '',
  ]);
});

test('the name of a folder among the runs is never executed', async () => {
  await using it = await home({
    '.factory/runs/01ABC/manifest.json': '{}',
    '.factory/runs/$(touch executed)/manifest.json': '{}',
  });
  const text = `${await script('bash')}\nCOMP_WORDS=(factory show ''); COMP_CWORD=2; _factory; echo "\${COMPREPLY[@]}"; ls`;
  const out = execFileSync('bash', ['-c', text], { cwd: it.path, encoding: 'utf8' });
  expect(out).toContain('latest 01ABC\n');
  expect(out).not.toContain('executed');
});

test('zsh and fish get a script that names every command', async () => {
  expect(await script('zsh')).toContain('bashcompinit');
  const fish = await script('fish');
  expect(fish).toContain("-a simulate -d 'Show the way of a run");
  expect(fish).toContain("__fish_seen_subcommand_from run' -l workdir");
  expect(fish).toContain("-x -a 'fix-loop build review'");
});
