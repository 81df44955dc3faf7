import { defineConfig } from 'vitest/config';

const report = process.env['FACTORY_TEST_REPORT'];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/umask.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Most of the time goes to programs that the tests start: a worker for each core, none kept back.
    maxWorkers: '100%',
    // The environment of whoever runs the tests must not choose agents, models or log levels for them.
    env: {
      ATTRACTION_BACKEND: '',
      ATTRACTOR_BACKEND: '',
      ATTRACTOR_AGENT_BACKEND: '',
      FACTORY_AGENT: '',
      FACTORY_LOG_LEVEL: '',
      FACTORY_LOG_FORMAT: '',
      OPENAI_API_KEY: '',
      OPENAI_BASE_URL: '',
    },
    ...(report === undefined || report === ''
      ? {}
      : { reporters: ['default', 'json'], outputFile: { json: report } }),
  },
});
