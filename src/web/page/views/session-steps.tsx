/** The steps of a session: calls are one line until they are opened. */
import { useSignal } from '@preact/signals';
import { memo } from 'preact/compat';
import { useEffect, useRef } from 'preact/hooks';
import type { ShownItem, ShownTurn } from '../../../app/inspect/session-shape.ts';
import { countedItems } from '../../../core/amounts.ts';
import { turnWords, unansweredCall } from '../../../core/session-words.ts';
import { api, readProblem } from '../api.ts';
import type { SessionPlace } from '../session-feed.ts';
import { plainText } from '../text/ansi.ts';
import { clockTime, durationText, exactTime, tokensText } from '../text/format.ts';
import { Shape } from './icon.tsx';

/** How times and tokens are written on the page. */
export const sessionUnits = { duration: durationText, tokens: tokensText };

interface BlockProps {
  readonly of: SessionPlace;
  readonly items: readonly ShownItem[];
  readonly turns: ReadonlyMap<number, ShownTurn>;
  readonly agent: string | null;
  /** The turn of the item before. */
  readonly before: number;
  readonly target: number | undefined;
}

/** Pixels around the view in which blocks are drawn, and of an item before it is. */
const [nearby, usualHeight] = ['1500px', 32];

/** It is drawn when a reader comes near, and stays: a long session has many items. */
export const StepBlock = memo(
  ({ of, items, turns, agent, before, target }: BlockProps) => {
    const element = useRef<HTMLLIElement>(null);
    const isNear = useSignal(false);
    useEffect(() => {
      if (target !== undefined) isNear.value = true;
    }, [target]);
    useEffect(() => {
      if (element.current === null) return;
      const watch = new IntersectionObserver(
        (entries) => {
          if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
          isNear.value = true;
          watch.disconnect();
        },
        { rootMargin: nearby },
      );
      watch.observe(element.current);
      return () => watch.disconnect();
    }, []);
    if (!isNear.value && target === undefined)
      return <li ref={element} style={{ height: `${items.length * usualHeight}px` }} />;
    return (
      <li ref={element} class="block">
        {items.map((item, at) => {
          const turn = item.turn === (items[at - 1]?.turn ?? before) ? undefined : turns.get(item.turn);
          return (
            <div key={item.number}>
              {turn !== undefined && <TurnHead turn={turn} agent={agent} />}
              <Item of={of} item={item} isTarget={item.number === target} />
            </div>
          );
        })}
      </li>
    );
  },
  (a, b) => a.before === b.before && a.target === b.target && a.agent === b.agent && areSame(a, b),
);

/** Whether two drawings of a block would be the same: turns and items are read again while they may change. */
function areSame(a: BlockProps, b: BlockProps): boolean {
  const isSame = (item: ShownItem, at: number) =>
    item === b.items[at] && a.turns.get(item.turn) === b.turns.get(item.turn);
  return a.items.length === b.items.length && a.items.every(isSame);
}

function TurnHead({ turn, agent }: { turn: ShownTurn; agent: string | null }) {
  return (
    <h3 class="turn">
      Turn {turn.number}
      <span class="quiet">
        {[...(turn.at === null ? [] : [clockTime(turn.at)]), ...turnWords(turn, agent, sessionUnits)].join(
          ' · ',
        )}
      </span>
    </h3>
  );
}

/** Characters of reasoning that are not folded. */
const shortReasoning = 400;

function Item({ of, item, isTarget }: { of: SessionPlace; item: ShownItem; isTarget: boolean }) {
  const { kind, text, number, call } = item;
  if (call !== null) return <Call of={of} item={item} call={call} isTarget={isTarget} />;
  const classes = `message ${kind}${isTarget ? ' wanted' : ''}`;
  if (kind !== 'text' && text.length > shortReasoning)
    return (
      <details class={`step call${isTarget ? ' wanted' : ''}`} data-item={number}>
        <summary>
          <span class="name">{kind === 'note' ? 'Output' : 'Reasoning'}</span>
          <span class="detail">{text.split('\n')[0]}</span>
          <Came at={item.at} />
        </summary>
        <WholeText of={of} item={item} part="text" />
        <Address number={number} />
      </details>
    );
  return (
    <div class={classes} data-item={number}>
      {item.cut ? <WholeText of={of} item={item} part="text" /> : plainText(text)}
    </div>
  );
}

/** When it came; a summary may hold no link, so that the opened step has it. */
function Came({ at }: Pick<ShownItem, 'at'>) {
  if (at === null) return null;
  return (
    <time class="quiet number" dateTime={at} title={exactTime(at)}>
      {clockTime(at)}
    </time>
  );
}

function Address({ number }: Pick<ShownItem, 'number'>) {
  return (
    <a class="step-link" href={`#S${number}`}>
      Link to this step
    </a>
  );
}

const shapes = { running: 'running', completed: 'success', failed: 'fail', none: 'interrupted' } as const;

interface CallProps {
  readonly of: SessionPlace;
  readonly item: ShownItem;
  readonly call: NonNullable<ShownItem['call']>;
  readonly isTarget: boolean;
}

function Call({ of, item, call, isTarget }: CallProps) {
  const isOpen = useSignal(false);
  const { name, state, output_lines: lines, ms } = call;
  const figures = [
    ...(lines === 0 ? [] : [countedItems(lines, 'line')]),
    ...(ms === null ? [] : [durationText(ms)]),
    ...(state === 'none' ? [unansweredCall] : []),
  ];
  return (
    <details
      class={`step call${isTarget ? ' wanted' : ''}`}
      data-item={item.number}
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open;
      }}
    >
      <summary>
        <span class={`state tone-${state === 'failed' ? 'bad' : 'quiet'}`}>
          <Shape state={shapes[state]} />
          <span class="hidden">{state === 'none' ? unansweredCall : state}</span>
        </span>
        <span class="name">{name}</span>
        <span class="detail">{item.text.split('\n')[0]}</span>
        <span class="quiet number">{figures.join(', ')}</span>
        <Came at={item.at} />
      </summary>
      {isOpen.value && (
        <div class="texts">
          {call.arguments !== '' && <WholeText of={of} item={item} part="arguments" />}
          {call.arguments === '' && item.text.includes('\n') && <pre>{item.text}</pre>}
          {call.output === '' ? (
            <p class="quiet">{state === 'running' ? 'No output so far.' : 'No output.'}</p>
          ) : (
            <WholeText of={of} item={item} part="output" />
          )}
          <Address number={item.number} />
        </div>
      )}
    </details>
  );
}

type Part = 'text' | 'arguments' | 'output';
const textOf = ({ text, call }: ShownItem, part: Part): string =>
  part === 'text' ? text : (call?.[part] ?? '');

/** A text of an item; of one that was cut all of it on request. */
function WholeText({ of, item, part }: { of: SessionPlace; item: ShownItem; part: Part }) {
  const whole = useSignal<string | null>(null);
  const trouble = useSignal('');
  const text = textOf(item, part);
  const isCut = item.cut && text.includes('characters are not shown …]');
  const read = async (): Promise<void> => {
    try {
      const [only] = (await api.session(of, { item: String(item.number) })).items;
      whole.value = only === undefined ? text : textOf(only, part);
    } catch (error) {
      trouble.value = readProblem(error);
    }
  };
  return (
    <>
      <pre class={part}>{plainText(whole.value ?? text)}</pre>
      {isCut && whole.value === null && (
        <button type="button" class="small" onClick={read}>
          Show all
        </button>
      )}
      {trouble.value}
    </>
  );
}
