import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentAttributes } from '../../src/nodes/agent-attributes.ts';

const pages = ['agents.md', 'codex.md']
  .map((name) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8'))
  .join('\n');

test.for(Object.keys(agentAttributes))('what a node may say by %s is written down', (name) => {
  // The three that may go without their prefix are said so once.
  const short = name.replace(/^command\.(?=(?:prompt_via|response_via|response_format)$)/, '');
  expect(pages).toContain(`\`${short}\``);
});
