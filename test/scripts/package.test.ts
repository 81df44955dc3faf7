/** The installed package: its types, and the program in docs/library.md. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyScript } from '../../src/core/orders/work-order.ts';

const root = join(import.meta.dirname, '../..');
const house = mkdtempSync(join(tmpdir(), 'factory-package-'));
const installed = join(house, 'node_modules/dotfactory');
const [shown = '', ofPlans = ''] = [
  ...readFileSync(join(root, 'docs/library.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g),
].map(([, program = '']) => program);

beforeAll(() => {
  mkdirSync(installed, { recursive: true });
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
  for (const part of ['package.json', ...files.filter((name) => name !== 'types' && !name.startsWith('!'))])
    cpSync(join(root, part), join(installed, part), { recursive: true });
  execFileSync(process.execPath, [join(root, 'scripts/types.mjs'), join(installed, 'types')]);
  // Its dependencies, next to it as after an installation.
  for (const name of ['zod', 'openai', 'pino', 'commander', 'picocolors', 'ulid', '@ts-graphviz', '@types'])
    symlinkSync(join(root, 'node_modules', name), join(house, 'node_modules', name));
  writeFileSync(join(house, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(house, 'mine.ts'), shown);
  writeFileSync(join(house, 'plans.ts'), ofPlans);
  // Without its types this is JavaScript.
  writeFileSync(join(house, 'mine.mjs'), shown);
  writeFileSync(
    join(house, 'greet.dot'),
    'digraph { workdir="none"; vars="name=world"; start -> greet -> end; greet [shape=parallelogram, tool_command="echo ${var.name} > hello.txt"] }',
  );
});
afterAll(() => rmSync(house, { recursive: true, force: true }));

const compile = (source: string): string => {
  writeFileSync(join(house, 'mine.ts'), source);
  const options = { target: 'es2023', module: 'nodenext', strict: true, noEmit: true, types: ['node'] };
  writeFileSync(
    join(house, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { ...options, exactOptionalPropertyTypes: true },
      files: ['mine.ts', 'plans.ts'],
    }),
  );
  try {
    return execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', house], {
      encoding: 'utf8',
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
};

describe('the package', () => {
  it('has types for the programs in its documentation', () => {
    expect(compile(shown)).toBe('');
  });

  it('has the files that its documentation names', () => {
    for (const page of readdirSync(join(root, 'docs'))) {
      const text = readFileSync(join(root, 'docs', page), 'utf8');
      // The script that verifies a project is one of the reader's.
      for (const [, path = ''] of text.matchAll(/`((?:scripts|examples|pipelines|prompts)\/[\w./-]+\.\w+)/g))
        expect(path === verifyScript || existsSync(join(installed, path)), `${page}: ${path}`).toBe(true);
    }
  });

  it('checks a plan and writes a proposal with the second program', () => {
    const order = {
      ...{ id: 'WO-01', title: 't', intent: 'i', allowed_files: ['a.txt'], context_files: [], forbidden: [] },
      acceptance_commands: ['true'],
      postconditions: [{ kind: 'file_exists', path: 'a.txt' }],
    };
    const base_sha256 = createHash('sha256').digest('hex');
    const proposal = { summary: '', writes: [{ path: 'a.txt', base_sha256, content: 'written' }] };
    writeFileSync(join(house, 'plan.json'), JSON.stringify({ work_orders: [order] }));
    writeFileSync(join(house, 'answer.json'), JSON.stringify(proposal));
    writeFileSync(join(house, 'plans.mjs'), ofPlans);
    execFileSync(process.execPath, ['plans.mjs'], { cwd: house });
    expect(readFileSync(join(house, 'a.txt'), 'utf8')).toBe('written');
  });

  it('runs the first program', () => {
    const said = execFileSync(process.execPath, ['mine.mjs'], { cwd: house, encoding: 'utf8' }).split('\n');
    expect(said.filter((line) => line === 'StageCompleted')).toHaveLength(3);
    const [, workspace = ''] = said.find((line) => line.startsWith('completed '))?.split(' ') ?? [];
    expect(readFileSync(join(workspace, 'hello.txt'), 'utf8')).toBe('Ada\n');
    expect(said.at(-2)).toMatch(/^\d+ events$/);
  });

  it('has no file of the machine that built it, and the licences of all that is bundled', () => {
    const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [{ files = [] } = {}] = JSON.parse(packed) as { files: { path: string }[] }[];
    const paths = files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['LICENSE', 'SECURITY.md', 'dist/cli.js', 'dist/licenses.txt']),
    );
    expect(paths.filter((path) => path.endsWith('.cache'))).toEqual([]);
    const licenses = readFileSync(join(root, 'dist/licenses.txt'), 'utf8');
    for (const name of [
      'commander',
      'zod',
      'preact',
      '@hpcc-js/wasm-graphviz',
      '@ts-graphviz/ast',
      '@vscode/tree-sitter-wasm',
    ])
      expect(licenses).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(\\S+\\)\n\n\\S`, 'm'));
    expect(licenses).not.toContain('(undefined)');
  });
});
