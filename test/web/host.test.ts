/** Which names of a server are its own, and which addresses only this machine can reach. */
import { expect, test } from 'vitest';
import { isLoopback } from '../../src/core/policy/loopback.ts';
import { inUrl, isOurHost, tokenProblem } from '../../src/web/security.ts';

const on = (host: string, port = 4477) => ({ token: '', host, port: () => port, machine: 'Box' });

test.for([
  ['127.0.0.1', '127.0.0.1:4477', true],
  ['127.0.0.1', 'LOCALHOST:4477', true],
  ['127.0.0.1', '[::1]:4477', true],
  // The end of a tunnel has a port of its own.
  ['127.0.0.1', '127.0.0.1', true],
  ['127.0.0.1', '127.0.0.1:44770', true],
  ['127.0.0.1', '127.0.0.1:4477.evil.example', false],
  ['127.0.0.1', 'evil.example:4477', false],
  ['127.0.0.1', '192.168.1.5:4477', false],
  ['127.0.0.1', 'box:4477', false],
  ['127.0.0.1', '', false],
  ['192.168.1.5', '192.168.1.5:4477', true],
  ['192.168.1.5', '192.168.1.6:4477', false],
  ['::1', '[::1]:4477', true],
  ['0.0.0.0', '192.168.1.5:4477', true],
  ['0.0.0.0', 'box:4477', true],
  ['::', '[fe80::1]:4477', true],
  ['0.0.0.0', 'box.evil.example:4477', false],
  ['0.0.0.0', '1.2.3.4.evil.example:4477', false],
] as const)('listening on %s, the name %s is ours: %s', ([host, header, ours]) => {
  expect(isOurHost(header, on(host))).toBe(ours);
});

test('port 80 is not in the header', () => {
  expect(isOurHost('localhost', on('127.0.0.1', 80))).toBe(true);
});

test.for([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['localhost', true],
  ['::1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['192.168.1.5', false],
  ['127.evil.example', false],
] as const)('%s is reached only by this machine: %s', ([host, only]) => {
  expect(isLoopback(host)).toBe(only);
});

test('addresses with colons get brackets in a URL, and tokens have a form', () => {
  expect(['::1', '[::1]', 'box'].map(inUrl)).toEqual(['[::1]', '[::1]', 'box']);
  expect(tokenProblem('0123456789abcdef')).toBeUndefined();
  for (const bad of ['short', 'with a blank in it', 'a;b;c;d;e;f;g;h;i', 'x'.repeat(201)])
    expect(tokenProblem(bad)).toMatch(/16 to 200/);
});
