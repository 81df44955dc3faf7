/** The server of `factory keep --metrics`. */
import { expect, test } from 'vitest';
import { metricsApp } from '../../src/web/metrics-app.ts';

const app = (token?: string) =>
  metricsApp(
    async () => 'factory_queue_up 1\n',
    { token, host: '127.0.0.1', port: () => 9464 },
    () => {},
  );
const statusOf = async (path: string, headers: Record<string, string>, token?: string, method = 'GET') =>
  (await app(token).request(`http://127.0.0.1:9464${path}`, { method, headers })).status;
const token = 'T'.repeat(16);

test.for<[string, string, Record<string, string>, string | undefined, number]>([
  ['a loopback address without a token', '/metrics', { host: '127.0.0.1:9464' }, undefined, 200],
  ['the name of another site', '/metrics', { host: 'evil.example:9464' }, undefined, 403],
  ['another path', '/', { host: '127.0.0.1:9464' }, undefined, 404],
  ['the token', '/metrics', { host: 'build-1:9464', authorization: `Bearer ${token}` }, token, 200],
  ['no token where one is needed', '/metrics', { host: 'build-1:9464' }, token, 401],
  ['a wrong token', '/metrics', { host: 'build-1:9464', authorization: 'Bearer x' }, token, 401],
])('%s: %s is answered as it should be', async ([, path, headers, its, status]) => {
  expect(await statusOf(path, headers, its)).toBe(status);
});

test('nothing can be posted', async () => {
  expect(await statusOf('/metrics', { host: '127.0.0.1:9464' }, undefined, 'POST')).toBe(404);
});
