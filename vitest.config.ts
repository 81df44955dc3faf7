import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { programTextsOfTests } from './scripts/program-text.mjs';

const report = process.env['FACTORY_TEST_REPORT'];

// With it Node reads every certificate at each start, which takes three times as long as the start itself. Tests stay on
// this machine.
delete process.env['NODE_EXTRA_CA_CERTS'];

/** What a test file does where it changes something that all modules of its process share (mocks, environment, Node's own
 *  functions, folder, umask), or must not find it changed (V8's flags, which its cached code depends on). */
const changesProcess =
  /\bvi\.(?:mock|doMock|resetModules|stub\w+|spyOn|useFakeTimers)\(|\bnoteDisk\(|\bsyncBuiltinESMExports\(|\bcachedData|\bprocess\.(?:chdir|umask)\(|\bprocess\.env\[[^\]]+\] =[^=]/;
const files = readdirSync(join(import.meta.dirname, 'test'), { recursive: true, encoding: 'utf8' })
  .map((file) => `test/${file}`)
  .filter((file) => file.endsWith('.test.ts'));
const alone = files.filter((file) =>
  changesProcess.test(readFileSync(join(import.meta.dirname, file), 'utf8')),
);

/** A `python3` that is a script of a version manager takes ten times as long to start as the program that it chooses. */
function pathWithPython(): string {
  const said = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' });
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const folder = dirname(said.stdout?.trim() ?? '');
  return (folder === '.' || folders.includes(folder) ? folders : [folder, ...folders]).join(delimiter);
}

// For the tests, and for the next reading of this file: each project's configuration extends it anew.
process.env['PATH'] = pathWithPython();

/** Files that take longest, which no size says: begun last, they would leave a core idle at the end. */
const longest = /\/(?:battery|crash|golden|cuts|order-run)\.test\.ts$/;
/** The longest first, and those alone last: a worker that is shared ends where another kind of file follows. */
class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification) =>
      project.name === 'alone' ? 2 : longest.test(moduleId) ? 0 : 1;
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  plugins: [programTextsOfTests],
  test: {
    setupFiles: ['test/support/setup.ts'],
    sequence: { sequencer: InOrder },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Most of the time goes to programs that the tests start, and some of it is waited: a worker more than there are cores.
    maxWorkers: availableParallelism() + 1,
    // The environment of whoever runs the tests must not choose agents, models or log levels for them.
    env: {
      // Products are tested with pytest where it is installed: its plugins take four times as long to load as itself.
      PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1',
      ATTRACTION_BACKEND: '',
      ATTRACTOR_BACKEND: '',
      ATTRACTOR_AGENT_BACKEND: '',
      FACTORY_AGENT: '',
      FACTORY_LOG_LEVEL: '',
      FACTORY_LOG_FORMAT: '',
      OPENAI_API_KEY: '',
      OPENAI_BASE_URL: '',
    },
    projects: [
      // Loading the source anew for each file would take longer than most files: files share their worker's modules.
      {
        extends: true,
        test: { name: 'shared', include: ['test/**/*.test.ts'], exclude: alone, isolate: false },
      },
      { extends: true, test: { name: 'alone', include: alone, isolate: true } },
    ],
    ...(report === undefined || report === ''
      ? {}
      : { reporters: ['default', 'json'], outputFile: { json: report } }),
  },
});
