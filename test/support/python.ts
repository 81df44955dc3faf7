/** Whether the tests that need the machine's Python can run. */
import { outputOf } from '../../src/platform/process/run-sync.ts';

/** Why they are skipped; empty where there is a Python. */
export const noPython: string =
  outputOf('python3', ['-c', 'print(1)'], { input: '', timeoutMs: 20_000 }) === '' ? 'no python3 here' : '';
