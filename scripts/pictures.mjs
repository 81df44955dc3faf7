/** `npm run pictures`: the pictures in the documentation, of a real run of the main pipeline with its prepared answers. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const docs = join(root, 'docs');
const folder = mkdtempSync(join(tmpdir(), 'factory-pictures-'));
const factory = (...words) =>
  execFileSync(process.execPath, [join(root, 'dist/cli.js'), ...words], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder },
  });

/** Each makes its files in `docs` from the run `demo` in `folder`. */
const pictures = [
  () => factory('graph', 'demo', '-o', join(docs, 'run.svg')),
  () => factory('graph', 'demo', '--timeline', '-o', join(docs, 'run-timeline.svg')),
];

try {
  factory('run', 'compile-and-build', '--run-id', 'demo');
  for (const make of pictures) make();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
