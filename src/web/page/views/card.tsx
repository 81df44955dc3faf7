/** The card of a run that needs attention: what failed, the lines that say so with their places, and what to do. */
import type { FailureCard, FailureExcerpt } from '../../../app/inspect/failure-card.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import { executionPath } from '../selection.ts';
import { server } from '../store.ts';
import { nodeNamed } from '../text/address.ts';
import { openDialog } from './acts.tsx';
import { Command } from './parts.tsx';

/** Characters of a command that stand on the card. */
const mostOfCommand = 80;

export function CardOfRun({ run }: { run: RunView }) {
  const { card, cause } = run;
  if (card === null || cause === null) return null;
  return (
    <section class={`card edge-${lookOf(run.status).tone}`} aria-label="What failed, and what to do">
      <div class="card-cause">
        {cause.lines.map((line) => (
          <p key={line}>{line}</p>
        ))}
        {card.command !== null && <Ran command={card.command} code={card.exit_code} />}
        {card.node !== null && <Places run={run.run_id} card={card} node={card.node} />}
        {card.excerpt !== null && <Excerpt excerpt={card.excerpt} />}
      </div>
      <Actions run={run} card={card} />
    </section>
  );
}

function Ran({ command, code }: { command: string; code: number | null }) {
  const exit = code !== null && <span class="quiet"> exit {code}</span>;
  if (command.length <= mostOfCommand && !command.includes('\n'))
    return (
      <p>
        <code>{command}</code>
        {exit}
      </p>
    );
  const [first = ''] = command.split('\n');
  return (
    <details>
      <summary>
        <code>{first.slice(0, mostOfCommand - 1)}…</code>
        {exit}
      </summary>
      <pre>{command}</pre>
    </details>
  );
}

/** The execution, the line of its output, and the place in the source. */
function Places({ run, card, node }: { run: string; card: FailureCard; node: string }) {
  const { place, excerpt } = card;
  const at = nodeNamed(node);
  const line = excerpt?.first == null ? '' : `:${excerpt.first + (excerpt.at ?? 0)}`;
  return (
    <p class="card-places">
      {at !== undefined && <a href={executionPath(run, at.id, at.visit)}>Show {node}</a>}
      {excerpt?.of != null && (
        <code class="quiet">
          {excerpt.of}
          {line}
        </code>
      )}
      {place !== null && (
        <code>
          {place.file}:{place.line}
        </code>
      )}
    </p>
  );
}

export function Excerpt({ excerpt: { lines, first, at } }: { excerpt: FailureExcerpt }) {
  return (
    <pre class="card-excerpt">
      {lines.map((line, index) => (
        <span key={index} class={index === at ? 'telling' : ''}>
          {first !== null && <span class="line-number">{first + index}</span>}
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}

function Actions({ run, card: { actions } }: { run: RunView; card: FailureCard }) {
  return (
    <ol class="card-actions">
      {actions.map(({ words, command }, index) => {
        const hint = / --at (\S+) .*--note TEXT$/.exec(command)?.[1];
        return (
          <li key={command + words}>
            <p>{words}</p>
            <Command text={command} label={index === 0 ? 'Copy the next command' : 'Copy the command'} />
            {hint !== undefined && server.value?.read_only === false && (
              <button
                type="button"
                class="small"
                onClick={() => {
                  openDialog.value = { kind: 'fork', run, at: hint };
                }}
              >
                Fork with a hint…
              </button>
            )}
          </li>
        );
      })}
    </ol>
  );
}
