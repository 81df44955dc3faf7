/** Makes the program `sync` fail, so that each file of a tree is flushed by itself and a test can see it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';

export function withoutSync(): Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'factory-test-'));
  writeFileSync(join(folder, 'sync'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`);
  return {
    [Symbol.dispose]() {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
    },
  };
}
