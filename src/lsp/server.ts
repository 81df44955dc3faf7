/** `factory lsp`: what editors ask about pipelines. It reads files and executes nothing of a pipeline or its project. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type {
  CodeAction,
  CompletionItem,
  Connection,
  Diagnostic as EditorDiagnostic,
  TextEdit as EditorEdit,
  InitializeResult,
  Location,
  TextDocumentPositionParams,
  WorkspaceEdit,
} from 'vscode-languageserver/node';
import type { PipelineFindings } from '../app/pipeline-findings.ts';
import { pipelineFindings } from '../app/pipeline-findings.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import type { Graph } from '../core/graph.ts';
import { printGraph } from '../dot/format.ts';
import { readGraph } from '../dot/read.ts';
import { graphNear } from './analysis.ts';
import { suggestionsAt } from './complete.ts';
import { hoverAt } from './hover.ts';
import { fileNamedAt, nodePlaces } from './node-places.ts';
import { TextLines } from './positions.ts';
import { createConnection, ResponseError, TextDocument, TextDocuments } from './protocol.ts';
import { idProblem, type OffsetEdit, renamed, renamedRoutes } from './rename.ts';

export type ServerStreams = {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
};

/** Milliseconds without a change of the text after which it is checked. */
const quietMs = 150;

/** Answers an editor until it ends the session or its streams close; the exit code is that of the protocol. */
export async function serveEditor(
  { input, output }: ServerStreams,
  clock: Clock,
  version: string,
  env: Environment,
): Promise<number> {
  const connection = createConnection(input, output);
  const server = new EditorServer(connection, clock, env);
  return server.run(version);
}

class EditorServer {
  readonly #documents = new TextDocuments(TextDocument);
  readonly #lastGraphs = new Map<string, Graph>();
  readonly #findings = new Map<string, readonly Diagnostic[]>();
  readonly #pending = new Map<string, AbortController>();
  /** The documents about whose files a check of each document has said something. */
  readonly #reported = new Map<string, readonly string[]>();

  constructor(
    private readonly connection: Connection,
    private readonly clock: Clock,
    private readonly env: Environment,
  ) {}

  run(version: string): Promise<number> {
    const { connection } = this;
    connection.onInitialize(() => capabilities(version));
    this.#documents.onDidChangeContent(({ document: { uri } }) => {
      // Their places are those of the text before.
      this.#findings.delete(uri);
      void this.#checkSoon(uri);
    });
    this.#documents.onDidClose(({ document }) => this.#forget(document.uri));
    connection.onDidChangeWatchedFiles(() => this.#checkAll());
    this.#documents.onDidSave(() => this.#checkAll());
    connection.onCompletion((at) => this.#completions(at));
    connection.onHover((at) => {
      const { document, offset, graph } = this.#place(at);
      const found = document === undefined ? undefined : hoverAt(document.getText(), offset, graph);
      return found === undefined || document === undefined
        ? null
        : {
            contents: { kind: 'markdown', value: found.markdown },
            range: new TextLines(document.getText()).range(found.start, found.end),
          };
    });
    connection.onDefinition((at) => this.#definition(at));
    connection.onReferences((at) => this.#references(at));
    connection.onPrepareRename((at) => this.#named(at)?.range ?? null);
    connection.onRenameRequest(({ newName, ...at }) => this.#rename(at, newName));
    connection.onDocumentFormatting(({ textDocument }) => this.#format(textDocument.uri));
    connection.onCodeAction(({ textDocument, range }) => this.#actions(textDocument.uri, range));
    this.#documents.listen(connection);
    let isShutDown = false;
    connection.onShutdown(() => {
      isShutDown = true;
    });
    return new Promise((done) => {
      connection.onExit(() => done(isShutDown ? 0 : 1));
      connection.listen();
    });
  }

  #place({ textDocument, position }: TextDocumentPositionParams) {
    const document = this.#documents.get(textDocument.uri);
    if (document === undefined) return { document, offset: 0, graph: undefined, path: '' };
    const offset = document.offsetAt(position);
    const path = pathOf(document.uri);
    const graph = graphNear(path, document.getText(), offset, this.#lastGraphs.get(document.uri));
    if (graph !== undefined) this.#lastGraphs.set(document.uri, graph);
    return { document, offset, graph, path };
  }

  #completions(at: TextDocumentPositionParams): CompletionItem[] {
    const { document, offset, graph, path } = this.#place(at);
    if (document === undefined) return [];
    const text = document.getText();
    const lines = new TextLines(text);
    return suggestionsAt({ text, offset, path, graph }).map(({ label, detail, start, insert, kind }) => ({
      ...{ label, detail, filterText: label },
      ...(kind === undefined ? {} : { kind }),
      textEdit: { range: lines.range(start, offset), newText: insert },
    }));
  }

  /** The node that a place names. */
  #named(at: TextDocumentPositionParams) {
    const { document, offset, graph } = this.#place(at);
    if (document === undefined || graph?.text !== document.getText()) return undefined;
    const lines = new TextLines(graph.text);
    const found = nodePlaces(graph).find(({ start, end }) => start <= offset && offset <= end);
    return (
      found && { id: found.id, graph, lines, range: lines.range(found.start, found.end), uri: document.uri }
    );
  }

  #definition(at: TextDocumentPositionParams): Location | null {
    const named = this.#named(at);
    const node = named?.graph.nodes.get(named.id);
    if (named !== undefined && node !== undefined)
      return { uri: named.uri, range: named.lines.span(node.span) };
    const { graph, offset, path } = this.#place(at);
    const file = graph === undefined ? undefined : fileNamedAt(graph, offset);
    const target = file === undefined ? undefined : resolve(dirname(path), file);
    if (target === undefined || !existsSync(target)) return null;
    const start = { line: 0, character: 0 };
    return { uri: pathToFileURL(target).href, range: { start, end: start } };
  }

  #references(at: TextDocumentPositionParams): Location[] {
    const named = this.#named(at);
    if (named === undefined) return [];
    return nodePlaces(named.graph)
      .filter(({ id }) => id === named.id)
      .map(({ start, end }) => ({ uri: named.uri, range: named.lines.range(start, end) }));
  }

  #rename(at: TextDocumentPositionParams, to: string): WorkspaceEdit | ResponseError<void> {
    const named = this.#named(at);
    if (named === undefined)
      return new ResponseError(invalidParams, 'there is no node here, or the text has mistakes');
    const problem = idProblem(named.graph, to);
    if (problem !== undefined) return new ResponseError(invalidParams, problem);
    const routes = renamedRoutes(pathOf(named.uri), named.id, to);
    return {
      changes: {
        [named.uri]: editorEdits(named.lines, renamed(named.graph, named.id, to)),
        ...(routes && {
          [pathToFileURL(routes.file).href]: editorEdits(new TextLines(routes.text), routes.edits),
        }),
      },
    };
  }

  #format(uri: string): EditorEdit[] {
    const text = this.#documents.get(uri)?.getText();
    if (text === undefined || readGraph(pathOf(uri), text).diagnostics.length > 0) return [];
    const printed = printGraph(text);
    return printed === text ? [] : [{ range: new TextLines(text).range(0, text.length), newText: printed }];
  }

  #actions(uri: string, range: EditorDiagnostic['range']): CodeAction[] {
    const text = this.#documents.get(uri)?.getText();
    if (text === undefined) return [];
    const lines = new TextLines(text);
    const isNear = ({ place }: Diagnostic): boolean => {
      if (place === undefined) return false;
      const { start, end } = lines.span(place.span);
      return start.line <= range.end.line && range.start.line <= end.line;
    };
    return (this.#findings.get(uri) ?? []).filter(isNear).flatMap((one): CodeAction[] => {
      if (one.edits === undefined) return [];
      const edits = one.edits.map((edit) => ({ range: lines.span(edit.span), newText: edit.text }));
      return [
        {
          title: `Fix: ${one.fix ?? one.message}`,
          kind: 'quickfix',
          ...(one.sure === true ? { isPreferred: true } : {}),
          diagnostics: [editorDiagnostic(one, lines)],
          edit: { changes: { [uri]: edits } },
        },
      ];
    });
  }

  /** Another pipeline, or a prompt, may be what this one names. */
  #checkAll(): void {
    for (const uri of this.#documents.keys()) void this.#checkSoon(uri);
  }

  async #checkSoon(uri: string): Promise<void> {
    this.#pending.get(uri)?.abort();
    const newer = new AbortController();
    this.#pending.set(uri, newer);
    await this.clock.sleep(quietMs, newer.signal);
    if (newer.signal.aborted || this.#documents.get(uri) === undefined) return;
    const path = pathOf(uri);
    if (!path.endsWith('.dot') && this.#documents.get(uri)?.languageId !== languageId) return;
    const texts = new Map(this.#documents.all().map((one) => [pathOf(one.uri), one.getText()]));
    const findings = await pipelineFindings(path, dirname(path), {
      ...{ texts, inert: true, env: this.env },
    });
    // A text that has changed meanwhile is checked again.
    if (!newer.signal.aborted) this.#report(uri, path, findings);
  }

  #report(uri: string, path: string, { diagnostics, textOf, anyGraph, text = '' }: PipelineFindings): void {
    if (anyGraph !== undefined && anyGraph.text === text) this.#lastGraphs.set(uri, anyGraph);
    const byFile = new Map<string, EditorDiagnostic[]>([[uri, []]]);
    const linesByFile = new Map<string, TextLines>();
    for (const one of diagnostics) {
      const file = one.place?.file ?? path;
      const target = file === path ? uri : pathToFileURL(resolve(dirname(path), file)).href;
      // Of a file that is open itself its own check reports.
      if (target !== uri && this.#documents.get(target) !== undefined) continue;
      const lines = linesByFile.get(file) ?? new TextLines(textOf(file) ?? text);
      linesByFile.set(file, lines);
      byFile.set(target, [...(byFile.get(target) ?? []), editorDiagnostic(one, lines)]);
    }
    this.#findings.set(
      uri,
      diagnostics.filter(({ place }) => place?.file === path),
    );
    for (const old of this.#reported.get(uri) ?? []) if (!byFile.has(old)) this.#send(old, []);
    for (const [target, found] of byFile) this.#send(target, found);
    this.#reported.set(uri, [...byFile.keys()]);
  }

  #send(uri: string, diagnostics: EditorDiagnostic[]): void {
    void this.connection.sendDiagnostics({ uri, diagnostics });
  }

  #forget(uri: string): void {
    this.#pending.get(uri)?.abort();
    for (const old of this.#reported.get(uri) ?? [uri]) this.#send(old, []);
    for (const known of [this.#lastGraphs, this.#findings, this.#pending, this.#reported]) known.delete(uri);
  }
}

/** The id of the language in an editor, where a file is not called `.dot`. */
const languageId = 'factory-dot';
/** An error code of the protocol. */
const invalidParams = -32602;
const severities = { error: 1, warning: 2, hint: 3 } as const;

const pathOf = (uri: string): string => {
  try {
    return fileURLToPath(uri);
  } catch {
    // A text that was never saved.
    return resolve(uri.replace(/^\w+:/, '').replace(/^\/+/, '/'));
  }
};

const editorDiagnostic = (
  { code, severity, message, fix, place }: Diagnostic,
  lines: TextLines,
): EditorDiagnostic => ({
  range: place === undefined ? lines.range(0, 0) : lines.span(place.span),
  severity: severities[severity],
  ...{ code, source: 'factory' },
  message: fix === undefined ? message : `${message}\nfix: ${fix}`,
});

const editorEdits = (lines: TextLines, edits: readonly OffsetEdit[]): EditorEdit[] =>
  edits.map(({ start, end, text }) => ({ range: lines.range(start, end), newText: text }));

const capabilities = (version: string): InitializeResult => ({
  serverInfo: { name: 'factory', version },
  capabilities: {
    // Only what changes is sent.
    textDocumentSync: { openClose: true, change: 2, save: true },
    completionProvider: { triggerCharacters: ['[', ',', '=', '"', '.', '{', '>', '@', '/', '#'] },
    hoverProvider: true,
    definitionProvider: true,
    referencesProvider: true,
    renameProvider: { prepareProvider: true },
    documentFormattingProvider: true,
    codeActionProvider: { codeActionKinds: ['quickfix'] },
  },
});
