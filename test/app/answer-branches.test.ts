/** Branches of models that see only their prompts: they work without a checkout. */
import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { startModelServer } from '../support/model-server.ts';

const pipeline = `digraph t {
  start [shape=Mdiamond]; exit [shape=Msquare]
  each [shape=component, for_each="[\\"a\\", \\"b\\"]"]
  ask [prompt_file="asks/\${item}.md", response_file="answers/\${item}.txt"]
  all [shape=tripleoctagon]
  start -> each -> ask -> all -> exit
}`;

test('a branch of one answer has no folder: it reads files of the fan-out, and its response_file is merged', async () => {
  const folders: boolean[] = [];
  const prompts: string[] = [];
  let at = '';
  await using server = await startModelServer(({ body }) => {
    folders.push(existsSync(join(at, '.factory/runs/r1/scratch/.branches')));
    prompts.push(String(body?.['input']));
    return { text: `To ${String(body?.['input'])}` };
  });
  await using it = await house(
    { 'p.dot': pipeline, 'work/asks/a.md': 'a?\n', 'work/texts/b.md': 'b?\n' },
    () => ({ OPENAI_API_KEY: 'sk-answers-0123456789', OPENAI_BASE_URL: server.url }),
  );
  at = it.path;
  await symlink('../texts/b.md', join(it.path, 'work/asks/b.md'));
  const ran = await it.run('p.dot', { workdir: 'work', runId: 'r1' });
  expect(ran.code, ran.err).toBe(0);
  expect([...prompts].sort()).toEqual(['a?', 'b?']);
  expect(folders).toEqual([false, false]);
  const answer = (name: string) =>
    readFile(join(it.path, `.factory/runs/r1/workspace/answers/${name}.txt`), 'utf8');
  expect([await answer('a'), await answer('b')]).toEqual(['To a?', 'To b?']);
});
