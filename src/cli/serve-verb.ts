/** The verb `serve` and its options. */

import { notEmpty, option, runsdir, wholeNumber } from './options.ts';
import type { Verb } from './verb.ts';

export const serveVerb: Verb = {
  usage: 'serve',
  about: 'Serve a live page and an HTTP API over the runs, on this machine',
  options: () => [
    runsdir(),
    option('--port <n>', 'port; 0 takes a free one (default: 4477)', wholeNumber(0, 65_535)),
    option(
      '--host <address>',
      'address to listen on (default: 127.0.0.1); any that others can reach needs a token of yours',
      notEmpty,
    ),
    option(
      '--token-file <file>',
      'file with the token, 16 characters or more (also: FACTORY_SERVE_TOKEN; default: a random token)',
      notEmpty,
    ),
    option(
      '--public-url <url>',
      'address under which a proxy or tunnel offers this server, such as https://ci.example.org',
      notEmpty,
    ),
    option('--read-only', 'show the runs, and offer nothing that changes them'),
    option('--openapi', 'print the OpenAPI document of the API, and serve nothing'),
  ],
  load: async () => (await import('./serve.ts')).serveCommand,
};
