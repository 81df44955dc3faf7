import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { applyProposal } from '../../src/builder/apply.ts';
import { preflightProblem } from '../../src/builder/build-state.ts';
import { parseProposal } from '../../src/builder/proposal.ts';
import { workOrderSchema } from '../../src/core/orders/work-order.ts';
import { folder, put, tree } from './support.ts';

type Generated = string | { $repeat: string; count: number; prefix?: string; suffix?: string };
type Case = {
  group: string;
  name: string;
  workOrder: unknown;
  repoTree: Record<string, Generated>;
  symlinks?: Record<string, string>;
  modes?: Record<string, string>;
  outsideTree?: Record<string, string>;
  proposal: unknown;
  expect: {
    stage?: string | null;
    stage_any_of?: string[];
    filesAfter: 'unchanged' | Record<string, Generated>;
    touched?: string[];
    llmCalls?: number;
    executableAfter?: string[];
  };
};
const cases: Case[] = JSON.parse(
  readFileSync(new URL('../vectors/builder/proposals.json', import.meta.url), 'utf8'),
);

/** Texts that are too long to write out. */
function expand(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expand);
  if (typeof value !== 'object' || value === null) return value;
  if ('$repeat' in value) {
    const { $repeat, count, prefix = '', suffix = '' } = value as Exclude<Generated, string>;
    return prefix + $repeat.repeat(count) + suffix;
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, expand(inner)]));
}
const files = (spec: Record<string, Generated>) => expand(spec) as Record<string, string>;

test.for(cases.map((one) => [`${one.group}: ${one.name}`, one] as const))('%s', async ([, one]) => {
  using it = folder();
  const repo = join(it.path, 'repo');
  mkdirSync(repo);
  put(repo, files(one.repoTree));
  put(it.path, one.outsideTree ?? {});
  for (const [path, target] of Object.entries(one.symlinks ?? {})) {
    mkdirSync(dirname(join(repo, path)), { recursive: true });
    symlinkSync(target, join(repo, path));
  }
  for (const [path, mode] of Object.entries(one.modes ?? {}))
    chmodSync(join(repo, path), Number.parseInt(mode, 8));
  const before = tree(it.path);
  const order = workOrderSchema().parse(one.workOrder);
  const proposal = expand(one.proposal);

  const unmet = await preflightProblem(repo, order);
  const parsed = parseProposal(typeof proposal === 'string' ? proposal : JSON.stringify(proposal));
  const applied =
    unmet !== undefined || 'stage' in parsed ? undefined : await applyProposal(repo, order, parsed.proposal);
  const stage =
    unmet !== undefined ? 'preflight' : 'stage' in parsed ? parsed.stage : (applied?.failure?.stage ?? null);

  if (one.expect.stage_any_of !== undefined) expect(one.expect.stage_any_of).toContain(stage);
  else expect(stage).toBe(one.expect.stage);
  if (one.expect.touched !== undefined) expect(applied?.touched).toEqual(one.expect.touched);
  const changed = one.expect.filesAfter === 'unchanged' ? {} : files(one.expect.filesAfter);
  const after = {
    ...before,
    ...Object.fromEntries(Object.entries(changed).map(([path, text]) => [`repo/${path}`, text])),
  };
  expect(tree(it.path)).toEqual(after);
  for (const path of one.expect.executableAfter ?? [])
    expect(statSync(join(repo, path)).mode & 0o111).not.toBe(0);
});

test.for([
  '{"summary":"s","summary":"t","writes":[{"path":"a","base_sha256":"x","content":"c"}]}',
  '{"summary":"s","writes":[{"path":"a","path":"b","base_sha256":"x","content":"c"}]}',
  '{"summary":"s","writes":[{"path":"a","base_sha256":"x","content":"c"}],"note":{"n":1,"\\u006e":2}}',
])('a proposal with a key given twice anywhere is invalid: %s', (text) => {
  for (const one of [text, `\`\`\`json\n${text}\n\`\`\``])
    expect(parseProposal(one)).toMatchObject({
      stage: 'llm_output_invalid',
      reason: expect.stringMatching(/has the key "\w+" twice in one object/),
    });
});
