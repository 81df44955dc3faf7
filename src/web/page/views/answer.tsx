/** A structured answer: proposed files with their code, the orders of a plan, an outcome with its facts. */
import { useMemo } from 'preact/hooks';
import { countedItems } from '../../../core/amounts.ts';
import type { AnswerParts, PlannedOrder, ProposedFile } from '../text/answer-parts.ts';
import { linesOfCode } from '../text/diff-rows.ts';
import { CodePieces } from './diff.tsx';

/** More files are shown when they are opened. */
const mostOpen = 10;

export function StructuredAnswer({ parts }: { parts: AnswerParts }) {
  switch (parts.kind) {
    case 'proposal':
      return (
        <div class="answer">
          {parts.summary !== '' && <p class="note">{parts.summary}</p>}
          {parts.writes.map((file, at) => (
            <File key={`${at} ${file.path}`} file={file} open={parts.writes.length <= mostOpen} />
          ))}
        </div>
      );
    case 'plan':
      return (
        <div class="answer">
          {parts.overview.map((line) => (
            <p key={line} class="note">
              {line}
            </p>
          ))}
          {parts.orders.map((order, at) => (
            <Order key={`${at} ${order.id}`} order={order} />
          ))}
        </div>
      );
    case 'outcome':
      return <OutcomeAnswer parts={parts} />;
  }
}

function File({ file: { path, content }, open }: { file: ProposedFile; open: boolean }) {
  const lines = useMemo(() => linesOfCode(content), [content]);
  return (
    <details class="file-diff" open={open}>
      <summary>
        <span class="path">{path}</span> <span class="quiet">{countedItems(lines.length, 'line')}</span>
      </summary>
      <CodePieces lines={lines} path={path} look="plain" label={`Proposed ${path}`} />
    </details>
  );
}

function Order({ order: { id, title, intent, files, commands } }: { order: PlannedOrder }) {
  return (
    <section class="planned">
      <h4>
        {id} {title}
      </h4>
      <p>{intent}</p>
      <Names label="Files" names={files} />
      <Names label="Accepted by" names={commands} />
    </section>
  );
}

function Names({ label, names }: { label: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p class="quiet">
      {label}:{' '}
      {names.map((name, at) => (
        <span key={name}>
          {at > 0 && ', '}
          <code>{name}</code>
        </span>
      ))}
    </p>
  );
}

function OutcomeAnswer({
  parts: { outcome, text, facts },
}: {
  parts: Extract<AnswerParts, { kind: 'outcome' }>;
}) {
  return (
    <div class="answer">
      {text !== '' && <p class="note answer-text">{text}</p>}
      <dl class="facts context">
        <div>
          <dt>outcome</dt>
          <dd>
            <strong>{outcome}</strong>
          </dd>
        </div>
        {facts.map((fact) => (
          <div key={fact.name}>
            <dt>{fact.name}</dt>
            <dd>
              {fact.isJson ? (
                <CodePieces lines={linesOfCode(fact.text)} path="x.json" look="plain" label={fact.name} />
              ) : (
                <span class="answer-text">{fact.text}</span>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
