/** The messages of an agent that speaks the Agent Client Protocol as lines of a session. Pure. */
import { isObject } from '../../core/json.ts';
import type { SessionLine } from '../../core/records/session.ts';
import { type AcpCall, type AcpUpdate, acpActionOf, mergedCall, messageIn, updateIn } from './updates.ts';
import { acpTokensIn } from './usage.ts';

type TextUpdate = Extract<AcpUpdate, { readonly text: string }>;

/** Answers each line of standard output with those of the session. Texts come in pieces, and are shown whole. */
export function acpSession(): (line: string) => readonly SessionLine[] {
  const calls = new Map<string, AcpCall>();
  let saying: TextUpdate | undefined;
  let turn: 'before' | 'open' | 'over' = 'before';
  const flushed = (): readonly SessionLine[] => {
    const text = saying;
    saying = undefined;
    return text === undefined ? [] : [lineOf(text)];
  };
  const opening = (): readonly SessionLine[] => {
    if (turn !== 'before') return [];
    turn = 'open';
    return [{ type: 'turn' }];
  };
  const say = (update: TextUpdate): readonly SessionLine[] => {
    const start = opening();
    // Nothing follows by which its end would be seen.
    if (turn === 'over') return [lineOf(update)];
    const before = saying?.kind === update.kind ? [] : flushed();
    saying = { kind: update.kind, text: `${saying?.text ?? ''}${update.text}` };
    return [...start, ...before];
  };
  return (line) => {
    const message = messageIn(line);
    const update = updateIn(message)?.update;
    switch (update?.kind) {
      case 'text':
      case 'thought':
        return say(update);
      case 'call':
        return [...opening(), ...flushed(), ...callLines(update.call, calls)];
      case 'cost':
        return [...opening(), { type: 'usage', cost_usd: update.usd }];
      default: {
        if (!isObject(message) || !isObject(message['result']) || !('stopReason' in message['result']))
          return [];
        const last = flushed();
        turn = 'over';
        const tokens = acpTokensIn(message['result']);
        return tokens === undefined ? last : [...last, { type: 'usage', ...tokens }];
      }
    }
  };
}

const lineOf = ({ kind, text }: TextUpdate): SessionLine => ({
  type: kind === 'text' ? 'text' : 'reasoning',
  text,
});

const isOver = (call: AcpCall | undefined): boolean =>
  call?.status === 'completed' || call?.status === 'failed';

/** A call is shown when it is made: until then its input comes in pieces. */
function callLines(call: AcpCall, calls: Map<string, AcpCall>): readonly SessionLine[] {
  const id = call.toolCallId;
  const known = calls.get(id);
  const whole = mergedCall(known, call);
  calls.set(id, whole);
  if (isOver(known) || (!isOver(whole) && whole.status !== 'in_progress')) return [];
  const { action, detail } = acpActionOf(whole);
  const made: readonly SessionLine[] =
    known?.status === 'in_progress' ? [] : [{ type: 'call', id, name: action.replaceAll('_', ' '), detail }];
  if (!isOver(whole)) return made;
  const output = (whole.content ?? []).map(({ content }) => content?.text ?? '').join('\n');
  return [...made, { type: 'result', id, ok: whole.status === 'completed', output }];
}
