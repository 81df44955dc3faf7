import { defineConfig } from 'vitest/config';

const report = process.env['FACTORY_TEST_REPORT'];

// With it Node reads every certificate at each start, which takes three times as long as the start itself. Tests stay on
// this machine.
delete process.env['NODE_EXTRA_CA_CERTS'];

/** The page in Chromium: `npm run test:browser`. Not part of `npm test`. */
export default defineConfig({
  test: {
    include: ['test/browser/*.browser.ts'],
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Chromium takes more than one core, and tests of time share them.
    maxWorkers: 1,
    env: { FACTORY_AGENT: '', OPENAI_API_KEY: '', OPENAI_BASE_URL: '' },
    ...(report === undefined || report === ''
      ? {}
      : { reporters: ['default', 'json'], outputFile: { json: report } }),
  },
});
