/** The OpenAPI document, docs/api.md and the client against the table of routes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ApiFailure, createClient } from '../../src/web/client.ts';
import { documentedPath, openApi } from '../../src/web/openapi.ts';
import { type ApiRoute, routes } from '../../src/web/routes.ts';
import { call } from '../support/verb.ts';

type Operation = { readonly operationId: string; readonly parameters: { name: string; in: string }[] };
type Document = {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object> };
};
const all: readonly [string, ApiRoute][] = Object.entries(routes);

test('factory serve --openapi prints every route with its parameters, and nothing else', async () => {
  const told = await call(['serve'], { openapi: true }, { cwd: '/', env: {} });
  const { paths } = JSON.parse(told.out) as Document;
  const listed = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters }]) => ({
      name: operationId,
      route: `${method} ${path}`,
      params: parameters.filter((one) => one.in === 'path').map(({ name }) => name),
    })),
  );
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  expect(listed.sort(byName)).toEqual(
    all
      .map(([name, { method, path, params }]) => ({
        name,
        route: `${method} ${documentedPath(path)}`,
        params: Object.keys(params?.().shape ?? {}),
      }))
      .sort(byName),
  );
});

test('every reference in the document leads to a schema', () => {
  const text = JSON.stringify(openApi());
  const { schemas } = (openApi() as Document).components;
  const names = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref ?? '');
  expect(names.length).toBeGreaterThan(20);
  for (const ref of new Set(names)) expect(Object.keys(schemas), ref).toContain(ref.split('/').at(-1));
});

test('docs/api.md names every path', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/api.md'), 'utf8');
  for (const [, { path }] of all) {
    const written = path
      .replace(':id', 'ID')
      .replace(':job', 'JOB')
      .replace(':node', 'NODE')
      .replace(':visit', 'VISIT')
      .replace('*', 'NAME');
    expect(text).toContain(written.endsWith('/timeline.svg') ? 'timeline.svg' : written);
  }
});

test('the client sends the token of the address, and rejects with what the server says', async () => {
  const asked: [string, RequestInit | undefined][] = [];
  const client = createClient({
    url: 'http://127.0.0.1:1/?token=TTT',
    fetch: async (url, init) => {
      asked.push([String(url), init]);
      return Response.json({ code: 'read-only', message: 'no', fix: 'so' }, { status: 405 });
    },
  });
  const failed = await client
    .fork({ params: { id: 'a' }, body: { at: 'make@1' } })
    .catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(ApiFailure);
  expect(failed).toMatchObject({ status: 405, code: 'read-only', message: 'no', fix: 'so' });
  expect(asked).toMatchObject([
    [
      'http://127.0.0.1:1/api/v1/runs/a/fork',
      { method: 'POST', body: '{"at":"make@1"}', headers: { Authorization: 'Bearer TTT' } },
    ],
  ]);
});
