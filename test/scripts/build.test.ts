import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const { version, platform, arch, execPath } = process;
const cache = `program-${[version, platform, arch, statSync(execPath).size].join('-')}.cache`;

describe('the built program', () => {
  it('includes a code cache that V8 accepts', () => {
    const filename = join(root, 'dist/program.cjs');
    const script = new Script(readFileSync(filename, 'latin1'), {
      filename,
      cachedData: readFileSync(join(root, 'dist', cache)),
    });
    expect(script.cachedDataRejected).toBe(false);
  });

  it('is pure ASCII, since it is read with one byte per character', () => {
    const bytes = readFileSync(join(root, 'dist/program.cjs'));
    expect(bytes.findIndex((byte) => byte > 0x7f)).toBe(-1);
  });

  it.each([
    ['without a code cache', (dist: string) => rmSync(join(dist, cache))],
    ['with a code cache of another V8', (dist: string) => writeFileSync(join(dist, cache), 'made elsewhere')],
  ])('works %s', (_, change) => {
    const folder = mkdtempSync(join(tmpdir(), 'factory-built-'));
    try {
      cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
      for (const part of ['package.json', 'pipelines'])
        cpSync(join(root, part), join(folder, part), { recursive: true });
      change(join(folder, 'dist'));
      const help = execFileSync(process.execPath, [join(folder, 'dist/cli.js'), 'validate', '--help'], {
        encoding: 'utf8',
      });
      expect(help).toContain('factory validate');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.each([
    ['is used by the Node that created it', '', true],
    // Many versions of Node have the same V8, which crashes on a cache of another version.
    ['is not used by another version of Node', "'version', { value: 'v20.19.99' }", false],
    ['is not used by another build of that Node', "'execPath', { value: __filename }", false],
  ])('the code cache %s', (_, change, taken) => {
    const folder = mkdtempSync(join(tmpdir(), 'factory-built-'));
    try {
      const [hook, seen] = [join(folder, 'hook.cjs'), join(folder, 'seen')];
      writeFileSync(
        hook,
        `${change === '' ? '' : `Object.defineProperty(process, ${change});`}
        const vm = require('node:vm');
        const { Script } = vm;
        vm.Script = function (source, options) {
          require('node:fs').writeFileSync(${JSON.stringify(seen)}, String(options.cachedData !== undefined));
          return new Script(source, options);
        };`,
      );
      execFileSync(process.execPath, ['--require', hook, 'dist/cli.js', 'validate', '--help'], { cwd: root });
      expect(readFileSync(seen, 'utf8')).toBe(String(taken));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.skipIf(availableParallelism() < 2)('copies many files with threads', () => {
    const folder = mkdtempSync(join(tmpdir(), 'factory-built-'));
    try {
      const [workdir, runs, count] = [join(folder, 'work'), join(folder, 'runs'), join(folder, 'count.cjs')];
      mkdirSync(workdir);
      for (let n = 0; n < 1400; n++) writeFileSync(join(workdir, `${n}.txt`), `${n}`);
      writeFileSync(
        join(folder, 'p.dot'),
        'digraph { start [shape=Mdiamond] end [shape=Msquare] start -> end }',
      );
      // Only seen by the main thread.
      writeFileSync(
        count,
        `const fs = require('node:fs');
        const { openSync } = fs;
        let made = 0;
        fs.openSync = (path, ...more) => {
          if (String(path).endsWith('.txt') && more[0] & fs.constants.O_CREAT) made += 1;
          return openSync(path, ...more);
        };
        process.on('exit', () => fs.writeFileSync(${JSON.stringify(join(folder, 'made'))}, String(made)));`,
      );
      const cli = ['dist/cli.js', 'run', join(folder, 'p.dot'), '--workdir', workdir, '--runsdir', runs];
      execFileSync(process.execPath, ['--require', count, ...cli, '--run-id', 'r1'], {
        cwd: root,
        stdio: 'pipe',
      });
      expect(readdirSync(join(runs, 'r1/workspace')).filter((name) => name.endsWith('.txt'))).toHaveLength(
        1400,
      );
      const made = Number(readFileSync(join(folder, 'made'), 'utf8'));
      expect(made).toBeGreaterThanOrEqual(1000);
      expect(made).toBeLessThan(1400);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
