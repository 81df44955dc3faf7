import fc from 'fast-check';
import { expect, test } from 'vitest';
import { kinds } from '../../src/app/kinds.ts';
import { formatDiagnostic } from '../../src/cli/report/diagnostics.ts';
import { typed } from '../../src/core/settings/typing.ts';
import { readGraph } from '../../src/dot/read.ts';
import { lint } from '../../src/lint/index.ts';

const valid = `digraph G {
  // a comment
  graph [goal="do \\"it\\"", vars="spec=@x.md, n=5"]
  node [shape=box, timeout=900s]; edge [weight=1]
  start [shape=Mdiamond]; exit [shape=Msquare];
  subgraph cluster_a { label="Loop A"; a [prompt="one
two" + "\${var.spec}", codex.workdir="x"][max_retries=2] b }
  start -> a -> {b c} -> exit [condition="outcome=success && !(context.x matches \\"^a\\")"] # end
  /* 😀 */ a -> exit [condition="outcome=maybe", tool_command="echo '\${var.no}'"]
}
`;

function checks(text: string): void {
  const { graph, diagnostics } = readGraph('p.dot', text);
  for (const d of [...diagnostics, ...(graph === undefined ? [] : lint(typed(graph, kinds)))]) {
    const span = d.place?.span;
    if (span === undefined) throw new Error(`${d.code} has no place`);
    expect(span.start.offset).toBeGreaterThanOrEqual(0);
    expect(span.end.offset).toBeGreaterThanOrEqual(span.start.offset);
    expect(span.end.offset).toBeLessThanOrEqual(text.length);
    expect(span.start.column).toBeGreaterThanOrEqual(1);
    expect(formatDiagnostic(d, text)).toContain('^');
  }
  if (graph === undefined) expect(diagnostics.length).toBeGreaterThan(0);
}

test('any sequence of tokens of the language is parsed or refused with places inside it', () => {
  const token = fc.constantFrom(
    ...[...'{ } [ ] ; , = -> -- : + "'.split(' '), '\\', '\n', ' ', '<', '>', '#', '//', '/*', '*/'],
    ...[...'a node edge graph subgraph digraph strict "x" 900s a.b -'.split(' '), "'", '$', '😀', '\r'],
  );
  const text = fc.array(token, { maxLength: 40 }).map((tokens) => tokens.join(''));
  fc.assert(
    fc.property(text, (inner) => checks(inner)),
    { numRuns: 100 },
  );
  fc.assert(
    fc.property(text, (inner) => checks(`digraph G {${inner}}`)),
    { numRuns: 200 },
  );
});

test('a valid pipeline with a part removed, doubled or replaced is parsed or refused with places inside it', () => {
  const place = fc.nat({ max: valid.length });
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 3 }),
    fc.constantFrom('"', '}', '{', ']', '[', '->', '='),
  );
  fc.assert(
    fc.property(place, fc.nat({ max: 30 }), piece, fc.boolean(), (at, length, put, twice) => {
      const stretch = valid.slice(at, at + length);
      checks(`${valid.slice(0, at)}${twice ? stretch + stretch : put}${valid.slice(at + length)}`);
    }),
    { numRuns: 150 },
  );
});
