/** The session of an agent: its turns, its texts and calls, also while it works. */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { ExecutionRow, ExecutionView } from '../../../app/inspect/execution-shapes.ts';
import type { Session } from '../../../app/inspect/session-shape.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { countedItems } from '../../../core/amounts.ts';
import { noSessionWords, sessionWords } from '../../../core/session-words.ts';
import { api } from '../api.ts';
import { fragment } from '../place.ts';
import { type SessionPlace, sessionKey, sessionProblem, useSession } from '../session-feed.ts';
import { follow } from '../settings.ts';
import { liveTextsOf } from '../store.ts';
import { blocksOf, itemOfHash, unsaid } from '../text/session.ts';
import { TextView } from './output.tsx';
import { StepBlock, sessionUnits } from './session-steps.tsx';

/** Items from which a session does not fit into a view. */
const longFrom = 20;
/** Items of one block. */
const blockItems = 50;

export function SessionPanel({ run, row, view }: { run: RunView; row: ExecutionRow; view: ExecutionView }) {
  const of = { run: run.run_id, node: row.node, visit: row.visit };
  const session = useSession(of, row);
  if (sessionProblem.value !== '' && session === null) return <p class="bar">{sessionProblem.value}</p>;
  if (session === null) return <p class="loading">Reading the session…</p>;
  return <SessionView key={sessionKey(of)} of={of} run={run} view={view} session={session} />;
}

interface ViewProps {
  readonly of: SessionPlace;
  readonly run: RunView;
  readonly view: ExecutionView;
  readonly session: Session;
}

function SessionView({ of, run, view, session }: ViewProps) {
  const found = useSignal<readonly number[]>([]);
  const at = useSignal(0);
  const words = useSignal('');
  const element = useRef<HTMLElement>(null);
  const target = found.value[at.value] ?? itemOfHash(fragment.value);
  useLayoutEffect(() => {
    if (target !== undefined) showItem(element.current, target);
  }, [target, session.items.length > (target ?? 0)]);
  useLayoutEffect(() => {
    if (follow.value && session.state === 'running')
      element.current?.lastElementChild?.scrollIntoView({ block: 'end' });
  }, [session.items.length]);
  const turns = useMemo(() => new Map(session.turns.map((turn) => [turn.number, turn])), [session.turns]);
  const blocks = blocksOf(session.items, blockItems);
  return (
    <section ref={element} class="session" aria-label="Session">
      <p class="tools session-head">
        <span>{sessionWords(session, sessionUnits, session.state !== 'running').join(' · ')}</span>
        {session.attempts > 1 && <span class="quiet">attempt {session.attempts}</span>}
        <span class="grow" />
        {session.items.length > longFrom && (
          <button
            type="button"
            class="small"
            onClick={() => element.current?.lastElementChild?.scrollIntoView({ block: 'end' })}
          >
            Latest
          </button>
        )}
        <SessionSearch of={of} words={words} found={found} at={at} />
      </p>
      {sessionProblem.value !== '' && <p class="bar">{sessionProblem.value}</p>}
      <Prompt run={run} view={view} />
      {session.items.length === 0 && <p class="loading">{noSessionWords(session.state, session.withheld)}</p>}
      <ol class="steps">
        {blocks.map((items, index) => (
          <StepBlock
            key={index}
            of={of}
            items={items}
            turns={turns}
            agent={session.agent}
            before={blocks[index - 1]?.at(-1)?.turn ?? 0}
            target={inBlock(target, index)}
          />
        ))}
      </ol>
      {session.state === 'running' && <Now view={view} session={session} />}
    </section>
  );
}

const inBlock = (target: number | undefined, index: number): number | undefined =>
  target !== undefined && Math.floor(target / blockItems) === index ? target : undefined;

/** Opens an item and brings it into view. */
function showItem(within: HTMLElement | null, number: number): void {
  const item = within?.querySelector<HTMLElement>(`[data-item="${number}"]`);
  if (item instanceof HTMLDetailsElement) item.open = true;
  item?.scrollIntoView({ block: 'center' });
}

interface SearchProps {
  readonly of: SessionPlace;
  readonly words: Signal<string>;
  readonly found: Signal<readonly number[]>;
  readonly at: Signal<number>;
}

/** Milliseconds after the last key until the words are sought. */
const restMs = 250;

function SessionSearch({ of, words, found, at }: SearchProps) {
  useEffect(() => {
    const sought = words.value;
    found.value = [];
    at.value = 0;
    if (sought.trim() === '') return;
    let isCurrent = true;
    const timer = setTimeout(async () => {
      const answer = await api.session(of, { q: sought, limit: '1' }).catch(() => null);
      if (isCurrent) found.value = answer?.found ?? [];
    }, restMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [words.value]);
  const count = found.value.length;
  return (
    <>
      <span class="quiet number" role="status">
        {words.value === '' ? '' : count === 0 ? 'not found' : `${at.value + 1} of ${count}`}
      </span>
      <input
        type="search"
        placeholder="Search"
        aria-label="Search in the session"
        value={words.value}
        onInput={(event) => {
          words.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || count === 0) return;
          event.preventDefault();
          at.value = (at.value + (event.shiftKey ? -1 : 1) + count) % count;
        }}
      />
    </>
  );
}

function Prompt({ run, view }: { run: RunView; view: ExecutionView }) {
  const { prompt } = view;
  if (prompt === null) return null;
  return (
    <details class="step call">
      <summary>
        <span class="name">Prompt</span>
        <span class="detail">{prompt.text.trim().split('\n')[0]}</span>
        <span class="quiet number">{countedItems(prompt.text.trimEnd().split('\n').length, 'line')}</span>
      </summary>
      <TextView name={prompt.name} text={prompt.text} shown={prompt} of={{ run, view }} plain />
    </details>
  );
}

/** What the model says at this moment. */
function Now({ view, session }: { view: ExecutionView; session: Session }) {
  const live = liveTextsOf(view);
  const thought = unsaid(live?.['reasoning'], session.items, 'reasoning');
  const spoken = unsaid(live?.['answer'], session.items, 'text');
  // A program shows its messages when they are whole.
  const isStreamed = session.agent === 'openai' || session.items.length === 0;
  if (!isStreamed || (spoken === '' && thought === '')) return <p class="quiet note">At work…</p>;
  return (
    <div class="now">
      {spoken === '' && <p class="message reasoning">{thought.slice(-2000)}</p>}
      {spoken !== '' && <p class="message">{spoken.slice(-8000)}</p>}
    </div>
  );
}
