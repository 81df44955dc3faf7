import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
});
