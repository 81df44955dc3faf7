/** What a prepared answer changes in the workspace. */
import { lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAgentScript } from '../../src/agents/script.ts';
import { scriptedAgent } from '../../src/agents/scripted.ts';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import { temp } from '../platform/temp.ts';
import { taskFor, wellFormed } from './contract.ts';

async function played(it: Awaited<ReturnType<typeof temp>>, answer: object) {
  const parsed = parseAgentScript(
    's.json',
    JSON.stringify({ format: 'factory-script/1', answers: { work: [answer] } }),
  );
  if ('diagnostics' in parsed) throw new Error(parsed.diagnostics.map(({ message }) => message).join('\n'));
  const agent = scriptedAgent({
    script: parsed.script,
    scriptPath: it.at('s.json'),
    readFile: async (path) => readFileSync(path, 'utf8'),
  });
  const workspace = it.at('w');
  return wellFormed(await agent.work(taskFor({ workspace }), new AbortController().signal));
}

test('files are written, linked, replaced and deleted, with their modes, before the answer is given', async () => {
  await using it = await temp();
  mkdirSync(it.at('w/gone'), { recursive: true });
  writeFileSync(it.at('w/gone/a'), '');
  writeFileSync(it.at('w/kept'), 'old', { mode: 0o755 });
  writeFileSync(it.at('other.bin'), Buffer.from([255, 0]));
  const report = await played(it, {
    finished: { outcome: 'partial_success', notes: 'half', context_updates: { n: 1 } },
    files: [
      { path: 'new/deep.txt', content: 'text', mode: '600' },
      { path: 'kept', content: 'new' },
      { path: 'b.bin', base64: '/wA=' },
      { path: 'c.bin', content_file: 'other.bin' },
      { path: 'link', link: 'kept' },
      { path: 'gone', delete: true },
    ],
  });
  expect(report).toMatchObject({ kind: 'finished', outcome: 'partial_success', updates: { n: 1 } });
  expect(readFileSync(it.at('w/new/deep.txt'), 'utf8')).toBe('text');
  expect(lstatSync(it.at('w/new/deep.txt')).mode & 0o777).toBe(0o600);
  expect([readFileSync(it.at('w/kept'), 'utf8'), lstatSync(it.at('w/kept')).mode & 0o777]).toEqual([
    'new',
    0o755,
  ]);
  expect([...readFileSync(it.at('w/b.bin')), ...readFileSync(it.at('w/c.bin'))]).toEqual([255, 0, 255, 0]);
  expect(readlinkSync(it.at('w/link'))).toBe('kept');
  expect(lstatSync(it.at('w/gone'), { throwIfNoEntry: false })).toBeUndefined();
});

test.for([
  ['a link on the way out', { path: 'out/x', content: '' }, 'leads out of the workspace by a link'],
  ['a file that is not there', { path: 'x', content_file: 'none' }, 'there is no such file'],
] as const)('%s fails the call, and says which file', async ([, effect, why]) => {
  await using it = await temp();
  mkdirSync(it.at('w'));
  mkdirSync(it.at('elsewhere'));
  symlinkSync('../elsewhere', it.at('w/out'));
  const report = await played(it, { text: 'x', files: [effect] });
  expect(report).toMatchObject({ kind: 'failed', class: 'config' });
  if (report.kind === 'failed') expect(report.reason).toMatch(new RegExp(`files: ${effect.path}: .*${why}`));
});

test.for([
  [{ path: '../x', content: '' }, 'must be a path inside the workspace'],
  [{ path: '/x', content: '' }, 'must be a path inside the workspace'],
  [{ path: 'x' }, 'must have exactly one of content'],
  [{ path: 'x', content: '', delete: true }, 'but has content and delete'],
  [{ path: 'x', content: '', mode: '999' }, 'must be an octal mode'],
  [{ path: 'x', content: '', size: 1 }, 'unknown key "size"'],
] as const)('the change %j is refused where the script is read', ([effect, why]) => {
  const text = JSON.stringify({
    format: 'factory-script/1',
    answers: { work: [{ text: '', files: [effect] }] },
  });
  const parsed = parseAgentScript('s.json', text);
  const said = 'diagnostics' in parsed ? parsed.diagnostics.map(({ message }) => message).join('\n') : '';
  expect(said).toContain(why);
});

test.each([
  ['full', () => Object.assign(new Error('full'), { code: 'ENOSPC' }), /full/],
  ['another’s by now', () => new Superseded('taken'), /taken/],
])('a disk that is %s is no answer', async (_, trouble, says) => {
  await using it = await temp();
  mkdirSync(it.at('w'));
  const open = fence(it.dir, () => {
    throw trouble();
  });
  const effects: readonly object[] = [
    { path: 'a', content: 'x' },
    { path: 'a', delete: true },
  ];
  for (const effect of effects) await expect(played(it, { text: '', files: [effect] })).rejects.toThrow(says);
  open();
});
