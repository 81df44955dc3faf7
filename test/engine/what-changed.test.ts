/** What a resume refuses without a flag: everything that differs from the start of the run. */
import { rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { whatChanged } from '../../src/app/run/unchanged-inputs.ts';
import type { Manifest } from '../../src/core/records/manifest.ts';
import { sha256 } from '../../src/core/sha256.ts';
import { temp } from '../platform/temp.ts';
import { graphOf } from '../support/graph.ts';

const graph = graphOf('a; b; a -> b');

/** A run that began in a folder; `later` is what happened there since. */
async function changed(
  flags: Partial<Parameters<typeof whatChanged>[2]>,
  later: (at: (name: string) => string) => void = () => {},
) {
  await using it = await temp();
  const kept = (name: string, text: string) => {
    writeFileSync(it.at(name), text);
    return { path: it.at(name), sha256: sha256(text) };
  };
  const file = kept('spec.md', '# s\n');
  kept('copy.md', '# s\n');
  const manifest = {
    pipeline_path: it.at('p.dot'),
    pipeline: { sha256: sha256(graph.text) },
    prompts: { '@prompt.md': kept('prompt.md', 'do it') },
    schemas: { '@schema.json': kept('schema.json', '{}') },
    variables: {
      n: { value: '1' },
      spec: { value: '# s\n', file: { source: file.path, sha256: file.sha256 } },
    },
    agent: {
      name: 'scripted',
      model: 'm',
      effort: 'low',
      flags: { agent: 'scripted', model: 'm', effort: 'low', script_sha256: sha256('{"a":1}') },
    },
    original_workdir: it.dir,
  } as unknown as Manifest;
  kept('same.json', '{"a":1}');
  kept('other.json', '{"a":2}');
  later(it.at);
  const found = await whatChanged(manifest, graph, { vars: {}, ...flags }, { cwd: it.dir, env: {} });
  expect(found.every(({ code, severity }) => code === 'resume-changed' && severity === 'error')).toBe(true);
  return found.map(({ message }) => message.replaceAll(it.dir, '.'));
}

test.for<[string, Partial<Parameters<typeof whatChanged>[2]>]>([
  ['nothing', {}],
  ['variables as they were', { vars: { n: '1', spec: '@spec.md' } }],
  ['the agent, its model and its effort as they were', { agent: 'scripted', model: 'm', effort: 'low' }],
  ['a script of the same text', { agent_script: 'same.json' }],
  ['the same workdir by another name', { workdir: './.' }],
])('a resume with %s continues', async ([, flags]) => {
  expect(await changed(flags)).toEqual([]);
});

test.for<[Partial<Parameters<typeof whatChanged>[2]>, string]>([
  [{ vars: { n: '2' } }, '--var n differs'],
  [{ vars: { spec: '@copy.md' } }, '--var spec differs'],
  [{ vars: { spec: '# s\n' } }, '--var spec differs'],
  [{ vars: { more: '' } }, '--var more differs'],
  [{ agent: 'codex' }, "--agent codex differs from the run's agent, scripted"],
  [{ model: 'large' }, '--model large differs'],
  [{ effort: 'high' }, '--effort high differs'],
  [{ agent_script: 'other.json' }, '--script other.json differs'],
  [{ agent_script: 'gone.json' }, '--script gone.json differs'],
  [{ workdir: '..' }, '--workdir .. is not the workdir of the run'],
])('a resume with %o is refused', async ([flags, why]) => {
  expect(await changed(flags)).toEqual([expect.stringContaining(why)]);
});

test.for([
  ['prompt.md', 'the file @prompt.md (./prompt.md) '],
  ['schema.json', 'the file @schema.json (./schema.json) '],
] as const)('a resume is refused where %s is another one or gone', async ([name, why]) => {
  expect(await changed({}, (at) => writeFileSync(at(name), 'another'))).toEqual([
    `${why}has changed since the run began`,
  ]);
  expect(await changed({}, (at) => rmSync(at(name)))).toEqual([`${why}cannot be read`]);
});

test('and where the text of a file variable is, if it is named again', async () => {
  const later = (at: (name: string) => string) => writeFileSync(at('spec.md'), '# another\n');
  expect(await changed({ vars: { spec: '@spec.md' } }, later)).toEqual([
    expect.stringContaining('--var spec differs'),
  ]);
  // What is not named stays as the run has it.
  expect(await changed({}, later)).toEqual([]);
});
