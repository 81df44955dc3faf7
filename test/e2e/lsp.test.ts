/** `factory lsp` as an editor uses it: the built program, over its standard input and output. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import {
  type CodeAction,
  createProtocolConnection,
  type Diagnostic,
  StreamMessageReader,
  StreamMessageWriter,
  type TextEdit,
} from 'vscode-languageserver-protocol/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { authorsMistakes, deadPipelines, fixLoop, noMistakes } from '../support/authors.ts';
import { cli, home } from '../support/cli.ts';

/** An editor with a session over the files of a folder. */
async function editor(files: Record<string, string>) {
  const it = await home(files);
  const child = spawn(process.execPath, [cli, 'lsp', '--stdio'], {
    cwd: it.path,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise<number | null>((done) => child.on('exit', done));
  const connection = createProtocolConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  );
  const waiting = new Map<string, (found: Diagnostic[]) => void>();
  connection.onNotification('textDocument/publishDiagnostics', ({ uri, diagnostics }) =>
    waiting.get(uri)?.(diagnostics),
  );
  connection.listen();
  const { capabilities } = await connection.sendRequest<{ capabilities: Record<string, unknown> }>(
    'initialize',
    {
      ...{ processId: process.pid, rootUri: null, capabilities: {} },
    },
  );
  await connection.sendNotification('initialized', {});
  const uriOf = (name: string): string => pathToFileURL(join(it.path, name)).href;
  let version = 0;
  const foundIn = (name: string): Promise<Diagnostic[]> =>
    new Promise((done) => waiting.set(uriOf(name), done));
  return {
    ...{ path: it.path, capabilities, exited, uriOf, foundIn, connection },
    /** Opens a text that is not saved, and waits for what is found in it. */
    async open(name: string, text: string): Promise<Diagnostic[]> {
      const found = foundIn(name);
      const textDocument = { uri: uriOf(name), languageId: 'factory-dot', version: ++version, text };
      await connection.sendNotification('textDocument/didOpen', { textDocument });
      return found;
    },
    async change(name: string, text: string): Promise<Diagnostic[]> {
      const found = foundIn(name);
      const textDocument = { uri: uriOf(name), version: ++version };
      await connection.sendNotification('textDocument/didChange', {
        textDocument,
        contentChanges: [{ text }],
      });
      return found;
    },
    ask<T>(method: string, name: string, text: string, offset: number, more: object = {}): Promise<T> {
      const position = TextDocument.create('', '', 0, text).positionAt(offset);
      return connection.sendRequest<T>(`textDocument/${method}`, {
        textDocument: { uri: uriOf(name) },
        position,
        ...more,
      });
    },
    async end(): Promise<number | null> {
      await connection.sendRequest('shutdown');
      await connection.sendNotification('exit');
      return exited;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
      connection.dispose();
      await it[Symbol.asyncDispose]();
    },
  };
}

const document = (text: string) => TextDocument.create('', '', 0, text);
const under = (text: string, { range }: Diagnostic): string =>
  document(text)
    .getText(range)
    .split(/[\r\n]/)[0] ?? '';
const odd = (text: string): string => `/* 😀 */ ${text.replaceAll('\n', '\r\n')}`;

test('authors see in an editor what validate says: under the exact characters, with fixes that can be made', async () => {
  await using it = await editor({});
  expect(await it.open('p.dot', fixLoop)).toEqual([]);
  for (const { right, wrong, code, under: words, fixed } of authorsMistakes) {
    const text = odd(fixLoop.replace(right, () => wrong));
    const found = await it.change('p.dot', text);
    expect(found.map((one) => [one.code, under(text, one)])).toEqual([[code, words]]);
    if (fixed === 'nothing' || found[0] === undefined) continue;
    const actions = await it.connection.sendRequest<CodeAction[]>('textDocument/codeAction', {
      ...{ textDocument: { uri: it.uriOf('p.dot') }, range: found[0].range, context: { diagnostics: found } },
    });
    const edits = actions.find(({ isPreferred }) => isPreferred)?.edit?.changes?.[it.uriOf('p.dot')] ?? [];
    const left = await it.change('p.dot', TextDocument.applyEdits(document(text), edits));
    expect(
      left.filter(({ severity }) => severity !== 3),
      code,
    ).toEqual([]);
  }
  const wrong = fixLoop.replace('max_retries', 'max_retry');
  await it.change('p.dot', wrong);
  const lower = it.change('p.dot', `\n\n${wrong}`);
  // Asked before the text is checked again.
  const actions = await it.connection.sendRequest<CodeAction[]>('textDocument/codeAction', {
    textDocument: { uri: it.uriOf('p.dot') },
    range: { start: { line: 0, character: 0 }, end: { line: 20, character: 0 } },
    context: { diagnostics: [] },
  });
  const edits = actions[0]?.edit?.changes?.[it.uriOf('p.dot')] ?? [];
  expect([wrong, fixLoop]).toContain(TextDocument.applyEdits(document(`\n\n${wrong}`), edits).slice(2));
  await lower;
  for (const [right, other] of noMistakes)
    expect(
      await it.change(
        'p.dot',
        fixLoop.replace(right, () => other),
      ),
    ).toEqual([]);
  for (const { text, found } of deadPipelines)
    expect((await it.change('p.dot', odd(text))).map((one) => [one.code, under(odd(text), one)])).toEqual(
      found,
    );
  expect(await it.end()).toBe(0);
});

test('an unfinished text is completed; a node, a prompt and a child are found, renamed and formatted', async () => {
  const text = fixLoop
    .replace('"Fix it"', '"@prompts/fix.md"')
    .replace('  done', '  sub [type=subgraph, graph_ref="child.dot"]\n  done')
    .replace(
      'fix -> test [',
      'fix -> sub [condition="outcome=partial_success"]\n  sub -> done\n  fix -> test [',
    );
  const child = 'digraph c { start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }';
  const routes =
    '{"format":"factory-routes/1","routes":[{"name":"a","outcomes":{"fix":"fail"},"way":"start -> test -> fix"}]}';
  await using it = await editor({ 'child.dot': child, 'prompts/fix.md': 'Fix it', 'p.routes.json': routes });
  const writing = text.replace('start -> test', 'start -> te');
  await it.open('p.dot', writing);
  const items = await it.ask<{ label: string }[]>(
    'completion',
    'p.dot',
    writing,
    writing.indexOf('-> te') + 5,
  );
  expect(items.map(({ label }) => label)).toContain('test');

  await it.change('p.dot', text);
  const at = (words: string): number => text.indexOf(words) + words.length;
  const definition = (words: string) =>
    it.ask<{ uri: string; range: { start: { line: number } } } | null>(
      'definition',
      'p.dot',
      text,
      at(words),
    );
  expect(await definition('-> fi')).toMatchObject({ uri: it.uriOf('p.dot'), range: { start: { line: 5 } } });
  expect(await definition('@prompts/f')).toMatchObject({ uri: it.uriOf('prompts/fix.md') });
  expect(await definition('"child')).toMatchObject({ uri: it.uriOf('child.dot') });
  const hover = await it.ask<{ contents: { value: string } }>('hover', 'p.dot', text, at('max_vis'));
  expect(hover.contents.value).toContain('How often the node may be executed');

  const { changes } = await it.ask<{ changes: Record<string, TextEdit[]> }>(
    'rename',
    'p.dot',
    text,
    at('-> fi'),
    {
      newName: 'repair',
    },
  );
  const renamed = TextDocument.applyEdits(document(text), changes[it.uriOf('p.dot')] ?? []);
  expect(renamed.match(/\brepair\b/g)).toHaveLength(5);
  expect(TextDocument.applyEdits(document(routes), changes[it.uriOf('p.routes.json')] ?? [])).toBe(
    routes.replace('"fix"', '"repair"').replace('-> fix', '-> repair'),
  );
  await expect(it.ask('rename', 'p.dot', text, at('-> fi'), { newName: 'done' })).rejects.toThrow(
    'there is a node',
  );

  const messy = text.replace('start -> test', 'start->test');
  await it.change('p.dot', messy);
  const edits = await it.connection.sendRequest<TextEdit[]>('textDocument/formatting', {
    ...{ textDocument: { uri: it.uriOf('p.dot') }, options: { tabSize: 2, insertSpaces: true } },
  });
  expect(TextDocument.applyEdits(document(messy), edits)).toContain('start -> test\n');
});

test('texts that are not saved count in every pipeline, and nothing of a project is executed', async () => {
  const parent =
    'digraph p { workdir="none" start [shape=Mdiamond]; sub [type="subgraph", graph_ref="child.dot"]; exit [shape=Msquare]; start -> sub -> exit }';
  const child = 'digraph c { start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }';
  const own =
    "import { writeFileSync } from 'node:fs'; writeFileSync(new URL('ran', import.meta.url), ''); export default {};";
  await using it = await editor({
    ...{
      'child.dot': child,
      'p.dot': parent,
      'kind.mjs': own,
      'factory.json': '{ "nodes": ["./kind.mjs"] }',
    },
  });
  expect(await it.open('p.dot', parent)).toEqual([]);
  const again = it.foundIn('p.dot');
  const [{ code } = { code: '' }] = await it.open('child.dot', child.replace('start ->', 'start --'));
  expect(code).toBe('undirected-edge');
  // The parent is checked again when a file of it is saved.
  await it.connection.sendNotification('textDocument/didSave', {
    textDocument: { uri: it.uriOf('child.dot') },
  });
  await again;
  const of = parent.replace('type="subgraph", graph_ref="child.dot"', 'type=mine');
  expect(await it.change('p.dot', of)).toEqual([]);
  expect(existsSync(join(it.path, 'ran'))).toBe(false);
});
