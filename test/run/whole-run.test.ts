/** Every file of a whole run with a hash of what it holds: a change of the record shows here, in one place. */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const pipeline = `digraph p { vars="spec=@spec.md"; audit=report
  start [shape=Mdiamond]; done [shape=Msquare]
  write [prompt="Write out.txt.", response_file="out.txt"]
  check [shape=parallelogram, tool_command="grep good out.txt"]
  start -> write -> check; check -> done [condition="outcome=success"]; check -> write [condition="outcome=fail"] }`;
const files = {
  'work/keep.txt': 'kept\n',
  'spec.md': 'Write something good.\n',
  'script.json': JSON.stringify({
    format: 'factory-script/1',
    answers: { write: [{ text: 'bad' }, { text: 'good '.repeat(600) }] },
  }),
  'p.dot': pipeline,
};

/** Without what differs from run to run and from machine to machine. */
const plain = (text: string, home: string): string =>
  text
    .replaceAll(home, '<home>')
    .replaceAll(basename(home), '<folder>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replace(/"(sha256|prev|[a-z_]*_sha256|[a-z]*_?hash)": ?"[0-9a-f]*"/g, '"$1":"<hash>"')
    .replace(/\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b/g, '<hash>')
    .replace(
      /"(elapsed_ms|took_ms|duration_ms|seconds|bytes|held_ms|pid|pid_space|start_?[tT]ime|boot|host|folder|device|marker|factory_version|node_version|platform)": ?("[^"]*"|[\d.]+|null)/g,
      '"$1":"<x>"',
    )
    .replace(/"(enforces|missing|not_enforced)": \[[^\]]*\]/g, '"$1":[]');

function listing(run: string, home: string): string {
  const lines = (readdirSync(run, { recursive: true, encoding: 'utf8' }) as string[])
    .sort()
    .flatMap((name) => {
      const path = join(run, name);
      if (!lstatSync(path).isFile()) return [];
      // Names of contents depend on paths and times in them.
      const shown = name.replace(/[0-9a-f]{64}/, '<hash>');
      if (/^contents\//.test(name)) return [`${'-'.repeat(12)} ${shown}`];
      const text = plain(readFileSync(path, 'utf8'), home);
      return [`${createHash('sha256').update(text).digest('hex').slice(0, 12)} ${shown}`];
    });
  return `${lines.join('\n')}\n`;
}

test('the files of a whole run are these', async () => {
  await using it = await house(files, () => ({ FACTORY_SANDBOX: 'none' }));
  const ended = await it.run('p.dot', {
    runId: 'r',
    workdir: 'work',
    agent: 'scripted',
    script: 'script.json',
  });
  expect(ended.code, ended.err).toBe(0);
  const text = listing(join(it.path, '.factory/runs/r'), it.path);
  await expect(text).toMatchFileSnapshot(join(import.meta.dirname, 'whole-run.txt'));
});
