import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentAttributes } from '../../src/nodes/agent-attributes.ts';

const pages = ['agents.md', 'codex.md']
  .map((name) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8'))
  .join('\n');

test.for(Object.keys(agentAttributes))('%s is documented', (name) => {
  // Three attributes are documented without their prefix.
  const short = name.replace(/^command\.(?=(?:prompt_via|response_via|response_format)$)/, '');
  expect(pages).toContain(`\`${short}\``);
});
