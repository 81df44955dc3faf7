/** docs/lint.md: every lint code, each with an invalid example. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findingsOf } from '../support/graph.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/lint.md'), 'utf8');
const rows = [...page.matchAll(/^\| `([a-z-]+)` \| (error|warning|hint) \| .+? \| `(.+?)` \| .+ \|$/gm)].map(
  ([, code = '', severity = '', bad = '']) => [code, severity, bad] as const,
);

test('docs/lint.md has a line for every rule and for the findings of node kinds', () => {
  const rules = readdirSync(join(import.meta.dirname, '../../src/lint/rules')).map((name) =>
    name.replace(/\.ts$/, ''),
  );
  const ofTyping = ['attribute-value', 'attribute-kind', 'no-effect', 'unknown-attribute'];
  const ofKinds = ['strict-read-scope', 'sees-holdout', 'tool-command', 'verification-commands'];
  expect(rows.map(([code]) => code).sort()).toEqual(
    [...rules.filter((name) => name !== 'kind-check'), ...ofTyping, ...ofKinds].sort(),
  );
});

test.for(rows)('%s, called %s in the docs, is found in its example', ([code, severity, bad]) => {
  expect(findingsOf(`digraph g { ${bad} }`).map((d) => [d.code, d.severity])).toContainEqual([
    code,
    severity,
  ]);
});
