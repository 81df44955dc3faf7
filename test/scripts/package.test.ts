/** The installed package: its commands, its types, and the programs in docs/library.md. */
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
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyScript } from '../../src/core/orders/work-order.ts';

const root = join(import.meta.dirname, '../..');
const house = mkdtempSync(join(tmpdir(), 'factory-package-'));
const installed = join(house, 'node_modules/dotfactory');
const [shown = '', ofPlans = ''] = [
  ...readFileSync(join(root, 'docs/library.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g),
].map(([, program = '']) => program);

/** Whether npm installs the packed file; else it is unpacked, with links to the dependencies of this clone. */
const byNpm = process.env['FACTORY_TEST_INSTALL'] !== undefined;
/** What npm says of the packed file. */
let packed: { readonly filename: string; readonly unpackedSize: number; readonly files: { path: string }[] };

beforeAll(() => {
  packed = pack();
  writeFileSync(join(house, 'package.json'), '{ "type": "module" }');
  if (byNpm) npm(['install', '--prefer-offline', '--no-audit', '--no-fund', packed.filename], house);
  else unpack();
  if (!existsSync(join(house, 'node_modules/@types')))
    symlinkSync(join(root, 'node_modules/@types'), join(house, 'node_modules/@types'));
  writeFileSync(join(house, 'mine.ts'), shown);
  writeFileSync(join(house, 'plans.ts'), ofPlans);
  // Without its types this is JavaScript.
  writeFileSync(join(house, 'mine.mjs'), shown);
  writeFileSync(
    join(house, 'greet.dot'),
    'digraph { workdir="none"; vars="name=world"; start -> greet -> end; greet [shape=parallelogram, tool_command="echo ${var.name} > hello.txt"] }',
  );
}, 300_000);
afterAll(() => rmSync(house, { recursive: true, force: true }));

const npm = (words: readonly string[], cwd: string): string =>
  execFileSync('npm', words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
};

/** From a copy: other tests use the build at the same time. */
function pack(): typeof packed {
  const stage = join(house, 'stage');
  mkdirSync(stage);
  const parts = manifest.files.filter((name) => name !== 'types' && !name.startsWith('!'));
  for (const part of ['package.json', 'README.md', 'LICENSE', ...parts])
    cpSync(join(root, part), join(stage, part), { recursive: true });
  execFileSync(process.execPath, [join(root, 'scripts/types.mjs'), join(stage, 'types')]);
  const said = npm(['pack', '--json', '--ignore-scripts', '--pack-destination', house], stage);
  rmSync(stage, { recursive: true });
  const [one] = JSON.parse(said) as [typeof packed];
  return { ...one, filename: join(house, one.filename) };
}

function unpack(): void {
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', packed.filename, '--strip-components', '1', '-C', installed]);
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(house, 'node_modules', name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(house, 'node_modules', name));
  }
  mkdirSync(join(house, 'node_modules/.bin'));
  for (const name of ['factory', 'dotfactory'])
    symlinkSync('../dotfactory/dist/cli.js', join(house, 'node_modules/.bin', name));
}

/** An installed command, in the environment of a user without a key. */
const factory = (name: string, words: readonly string[]): string => {
  const { PATH, HOME } = process.env;
  return execFileSync(join(house, 'node_modules/.bin', name), words, {
    cwd: house,
    encoding: 'utf8',
    env: { PATH, HOME },
  });
};

const compile = (source: string): string => {
  writeFileSync(join(house, 'mine.ts'), source);
  const options = { target: 'es2023', module: 'nodenext', strict: true, noEmit: true, types: ['node'] };
  writeFileSync(
    join(house, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { ...options, exactOptionalPropertyTypes: true, skipLibCheck: false },
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

  it.each(['factory', 'dotfactory'])('has the command %s', (name) => {
    expect(factory(name, ['--version'])).toBe(`${manifest.version}\n`);
  });

  it('runs the main job with prepared answers', { timeout: 300_000 }, () => {
    const said = factory('dotfactory', ['run', 'compile-and-build', '--run-id', 'r1', '--json', '--quiet']);
    expect(JSON.parse(said)).toMatchObject({
      status: 'completed',
      evidence: { judged: { passed: 4, total: 4 } },
    });
  });

  it('draws a picture as PNG, with the one dependency that has programs', () => {
    factory('factory', ['graph', 'greet.dot', '-o', 'greet.png']);
    expect(readFileSync(join(house, 'greet.png')).subarray(1, 4).toString()).toBe('PNG');
  });

  it('is small, in a file and installed', () => {
    expect(packed.unpackedSize).toBeLessThan(9_000_000);
    // With those of this platform, and ours.
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }>;
    };
    const others = Object.entries(packages).filter(
      ([name, { dev, devOptional, optional }]) =>
        name !== '' && !dev && !devOptional && (optional !== true || existsSync(join(root, name))),
    );
    expect(others.length).toBeLessThanOrEqual(7);
  });

  it('has no file of the machine that built it, and the licences of all that is bundled', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['LICENSE', 'SECURITY.md', 'dist/cli.js', 'dist/licenses.txt']),
    );
    expect(paths.filter((path) => path.endsWith('.cache'))).toEqual([]);
    const licenses = readFileSync(join(installed, 'dist/licenses.txt'), 'utf8');
    for (const name of [
      'commander',
      'zod',
      'openai',
      'preact',
      '@hpcc-js/wasm-graphviz',
      '@ts-graphviz/ast',
      '@vscode/tree-sitter-wasm',
    ])
      expect(licenses).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(\\S+\\)\n\n\\S`, 'm'));
    expect(licenses).not.toContain('(undefined)');
  });
});
