/** Which GitHub is meant, with which token, and which repository a remote is. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Refusal } from '../../src/core/diagnostic.ts';
import { remotePlace, repositoryNamed } from '../../src/github/repository-name.ts';
import { gitHubServer } from '../../src/github/server.ts';

const at = (env: Record<string, string>) => gitHubServer({ GITHUB_TOKEN: 'one-token', ...env }, '/');

test.for([
  [
    undefined,
    { api: 'https://api.github.com', graphql: 'https://api.github.com/graphql', host: 'github.com' },
  ],
  [
    'https://git.example.org/api/v3/',
    {
      api: 'https://git.example.org/api/v3',
      graphql: 'https://git.example.org/api/graphql',
      host: 'git.example.org',
    },
  ],
  ['https://api.acme.ghe.com', { api: 'https://api.acme.ghe.com', host: 'acme.ghe.com' }],
  ['http://127.0.0.1:8080', { api: 'http://127.0.0.1:8080', host: undefined }],
] as const)('the server of %s', ([url, is]) => {
  expect(at(url === undefined ? {} : { GITHUB_API_URL: url })).toMatchObject(is);
});

test.for([
  ['http://git.example.org/api/v3', 'not https'],
  ['http://127.0.0.1.example.org', 'not https'],
  ['git.example.org', 'not a URL'],
  ['https://me:secret@git.example.org', 'no user'],
] as const)('%s gets no token: %s', ([url, why]) => {
  const refused = JSON.stringify(at({ GITHUB_API_URL: url }));
  expect(refused).toContain(why);
  expect(refused).not.toMatch(/secret|one-token/);
});

test('the token comes from the variable, or from a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'factory-token-'));
  writeFileSync(join(folder, 'token'), 'in-a-file\n');
  writeFileSync(join(folder, 'empty'), '\n');
  writeFileSync(join(folder, 'lines'), 'two\nlines\n');
  const tokenOf = (env: Record<string, string>) => gitHubServer(env, folder);
  expect(tokenOf({ GITHUB_TOKEN_FILE: 'token' })).toMatchObject({ token: 'in-a-file' });
  expect(tokenOf({ GITHUB_TOKEN_FILE: 'token', GITHUB_TOKEN: 'given' })).toMatchObject({ token: 'given' });
  const whys = [
    {},
    { GITHUB_TOKEN_FILE: 'none' },
    { GITHUB_TOKEN_FILE: 'empty' },
    { GITHUB_TOKEN_FILE: 'lines' },
  ];
  expect(whys.map((env) => (tokenOf(env) as Refusal).problems[0]?.message)).toEqual([
    'no token for GitHub',
    'GITHUB_TOKEN_FILE none is missing',
    'GITHUB_TOKEN_FILE empty is empty',
    'the token for GitHub is not one word of ASCII',
  ]);
  rmSync(folder, { recursive: true });
});

test.for([
  ['https://github.com/my-org/app.git', 'github.com my-org app'],
  ['https://x-access-token:abc@github.com/my-org/app', 'github.com my-org app'],
  ['git@github.com:my-org/app.git', 'github.com my-org app'],
  ['github.com:my-org/my.app', 'github.com my-org my.app'],
  ['ssh://git@GitHub.com:22/my-org/app.git/', 'github.com my-org app'],
  ['/srv/git/app.git', ''],
  ['../app', ''],
  ['file:///srv/my-org/app', ''],
  ['https://gitlab.com/group/sub/app', ''],
] as const)('the remote %s is %s', ([address, is]) => {
  const { host, owner, repo } = remotePlace(address) ?? { host: '', owner: '', repo: '' };
  expect([host, owner, repo].join(' ').trim()).toBe(is);
});

test.for(['app', 'a/b/c', '/app', 'org/', 'org/..', 'org/a b', '../x', 'org/a?x'])(
  '%s is no repository',
  (text) => {
    expect(repositoryNamed(text)).toBe(undefined);
  },
);
