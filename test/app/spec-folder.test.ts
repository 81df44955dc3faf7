/** Folders that are one specification: what the planner's text has of them, and how runs and the queue take them. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readInputText } from '../../src/app/input-text.ts';
import { sourcesOf } from '../../src/keeper/sources.ts';
import { call } from '../support/verb.ts';

let top = '';
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'factory-spec-'));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(top, name)), { recursive: true });
    writeFileSync(join(top, name), text);
  }
}
const read = async (name: string) => {
  const got = await readInputText(join(top, name), 'variable "spec"');
  return 'text' in got ? got.text : got.problem;
};

const feature = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  '.specify/memory/constitution.md': '# Constitution\nEvery error has an exit code.\n',
  'specs/001-links/spec.md': '# Feature Specification: links\n\nFind broken links.\n',
  'specs/001-links/plan.md': '# Plan\nNode, no dependencies.\n',
  'specs/001-links/data-model.md': '# Data\nA link.\n',
  'specs/001-links/contracts/api.yaml': 'paths: {}\n# ``` in a comment\n````\n',
  'specs/001-links/contracts/more/cli.md': 'The command `links`.\n',
  'specs/001-links/tasks.md': '- [ ] T001 write it\n',
  'specs/001-links/research.md': 'not part of it\n',
};

test('a feature of spec-kit is its spec, the constitution, plan, data and contracts; tasks are advice', async () => {
  write(feature);
  expect(await read('specs/001-links')).toMatchInlineSnapshot(`
    "# Feature Specification: links

    Find broken links.

    ---

    File constitution.md: rules of the project, which hold for every change

    # Constitution
    Every error has an exit code.

    ---

    File plan.md: how it is to be built

    # Plan
    Node, no dependencies.

    ---

    File data-model.md: the data

    # Data
    A link.

    ---

    File contracts/api.yaml: an interface that the product has to keep

    \`\`\`\`\`yaml
    paths: {}
    # \`\`\` in a comment
    \`\`\`\`
    \`\`\`\`\`

    ---

    File contracts/more/cli.md: an interface that the product has to keep

    The command \`links\`.

    ---

    File tasks.md: advice of another planner, not work orders; the files before it win

    - [ ] T001 write it
    "
  `);
});

const change = {
  'openspec/specs/auth/spec.md': '# auth\n### Requirement: Login\nA user logs in.\n',
  'openspec/changes/two-factor/proposal.md': '# Change: two factors\n## Why\nSafety.\n',
  'openspec/changes/two-factor/design.md': 'TOTP.\n',
  'openspec/changes/two-factor/specs/auth/spec.md': '## ADDED Requirements\n### Requirement: Code\n',
  'openspec/changes/two-factor/specs/mail/spec.md': '## ADDED Requirements\n### Requirement: Mail\n',
};

test('a change of OpenSpec is its proposal, design, and each delta next to what holds today', async () => {
  write(change);
  expect(await read('openspec/changes/two-factor')).toMatchInlineSnapshot(`
    "# Change: two factors
    ## Why
    Safety.

    ---

    File design.md: how it is to be built

    TOTP.

    ---

    File today's specs/auth/spec.md: requirements before this change

    # auth
    ### Requirement: Login
    A user logs in.

    ---

    File specs/auth/spec.md: requirements that this change adds, modifies, removes or renames

    ## ADDED Requirements
    ### Requirement: Code

    ---

    File specs/mail/spec.md: requirements that this change adds, modifies, removes or renames

    ## ADDED Requirements
    ### Requirement: Mail
    "
  `);
});

test('links are not followed: they could lead out of the specification', async () => {
  write({ ...feature, 'secret.txt': 'a secret' });
  rmSync(join(top, 'specs/001-links/plan.md'));
  symlinkSync(join(top, 'secret.txt'), join(top, 'specs/001-links/plan.md'));
  symlinkSync(join(top, 'secret.txt'), join(top, 'specs/001-links/contracts/secret.md'));
  expect(await read('specs/001-links')).not.toContain('a secret');
});

test('a folder on the way that is a link is not followed either', async () => {
  write({ ...change, 'elsewhere/spec.md': 'a secret', 'elsewhere/constitution.md': 'a secret' });
  rmSync(join(top, 'openspec/specs/auth'), { recursive: true });
  symlinkSync(join(top, 'elsewhere'), join(top, 'openspec/specs/auth'));
  expect(await read('openspec/changes/two-factor')).not.toContain('a secret');
  write({ 'p/.git/HEAD': 'ref: refs/heads/main\n', 'p/specs/1/spec.md': 'Build it.\n' });
  symlinkSync(join(top, 'elsewhere'), join(top, 'p/memory'));
  expect(await read('p/specs/1')).toBe('Build it.\n');
});

test('without a repository the constitution is looked for in the project only, not in all folders above', async () => {
  write({ 'memory/constitution.md': "Someone's rules.\n", 'p/specs/1/spec.md': 'Build it.\n' });
  expect(await read('p/specs/1')).toBe('Build it.\n');
  write({ 'p/.specify/memory/constitution.md': 'The rules.\n' });
  expect(await read('p/specs/1')).toContain('The rules.');
});

test.for([
  ['no specification', { 'docs/readme.md': 'x' }, 'docs', 'is a folder, not a file'],
  ['an empty spec', { 'f/spec.md': ' \n' }, 'f', 'f/spec.md is empty'],
  [
    'a binary contract',
    { 'f/spec.md': 'x', 'f/contracts/a.bin': 'a\0b' },
    'f',
    'contracts/a.bin is a binary file',
  ],
] as const)('a folder that cannot be read says why: %s', async ([, files, name, message]) => {
  write(files);
  expect(await read(name)).toContain(message);
});

test('the queue takes such a folder as one spec, and a folder of them as several', () => {
  write({ ...feature, 'specs/2-more.md': 'More.\n', 'specs/notes/readme.md': 'none' });
  const specs = (name: string) => {
    const got = sourcesOf([name], top);
    return 'sources' in got ? got.sources.map(({ spec }) => spec) : got.problems;
  };
  expect(specs('specs/001-links')).toEqual([join(top, 'specs/001-links')]);
  expect(specs('specs')).toEqual([join(top, 'specs/001-links'), join(top, 'specs/2-more.md')]);
});

test('a run has the whole text, and a resume notices a change of any of its files', async () => {
  write({
    ...feature,
    'p.dot': `digraph g {
      vars="spec=@x.md" workdir="none"
      start [shape=Mdiamond]
      one [shape=parallelogram, tool_command="grep -c 'no dependencies' \${var.spec}"]
      exit [shape=Msquare]
      start -> one
      one -> exit [condition="outcome=success"]
    }`,
  });
  const host = {
    cwd: top,
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', FACTORY_SANDBOX: 'none' },
  };
  const flags = { runId: 'r1', var: 'spec=specs/001-links' };
  const stopped = await call(['run', 'p.dot'], flags, {
    ...host,
    env: { ...host.env, ATTRACTION_TEST_STOP_AFTER_NODE: 'start' },
  });
  expect(stopped.err).toContain('start');
  const kept = join(top, '.factory/runs/r1/workspace/.factory/in/spec.md');
  expect(readFileSync(kept, 'utf8')).toContain('Every error has an exit code.');
  writeFileSync(join(top, 'specs/001-links/plan.md'), 'Another plan: no dependencies.\n');
  const again = await call(['run', 'p.dot'], { ...flags, resume: true }, host);
  expect(again.code).toBe(2);
  expect(again.err).toContain('--var spec differs');
  const resumed = await call(['resume', 'r1'], {}, host);
  expect(resumed.code, resumed.err).toBe(0);
});
