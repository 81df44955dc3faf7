/** The lines of a session from what is recorded of an execution: the transcript of a tool loop, what an agent program printed, or an
 *  answer. */
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { acpSession } from '../../agents/acp/session.ts';
import { claudeSession } from '../../agents/claude-session.ts';
import { codexSession } from '../../agents/codex-session.ts';
import { commandSessionName } from '../../agents/command-session.ts';
import { answerSessionName, loopSession } from '../../agents/openai/session.ts';
import { transcriptName } from '../../agents/openai/transcript.ts';
import { jsonLine, lineReader } from '../../agents/program/lines.ts';
import { recordedSession, timesName } from '../../agents/program/session.ts';
import { nodeLayout } from '../../core/records/layout.ts';
import { type SessionLine, sessionLineSchema } from '../../core/records/session.ts';
import { readPart } from '../../platform/files/read.ts';
import type { Session } from './session-shape.ts';

export type RecordedSession = {
  readonly source: Session['source'];
  readonly lines: readonly SessionLine[];
};

type Known = { readonly agent: string | undefined; readonly model: string | undefined };

/** Of the execution whose files are in `folder`. `agent` decides where several agents have left records. */
export function recordedIn(folder: string, known: Known): RecordedSession {
  const readers = [loopRecord, ...(['codex', 'claude', 'acp'] as const).map(programRecord), commandRecord];
  const found = readers.flatMap((read) => read(folder, known) ?? []);
  const chosen = found.find(({ agent }) => agent === known.agent) ?? found.at(0);
  return chosen ?? answerRecord(folder, known);
}

type Found = RecordedSession & { readonly agent: string };

function loopRecord(folder: string): Found | undefined {
  const steps = loopSession();
  const lines = linesIn(join(folder, transcriptName)).flatMap((line) => steps(line));
  return lines.length === 0 ? undefined : { agent: 'openai', source: 'transcript', lines };
}

const programSteps = { codex: codexSession, claude: claudeSession, acp: acpSession };

const programRecord =
  (agent: keyof typeof programSteps) =>
  (folder: string, { model }: Known): Found | undefined => {
    const printed = linesIn(join(folder, `${agent}.stdout.log`));
    const times = linesIn(join(folder, timesName(agent)));
    const lines = [...recordedSession(printed, times, { agent, model }, programSteps[agent]())];
    return lines.length < 2 ? undefined : { agent, source: 'events', lines };
  };

function commandRecord(folder: string): Found | undefined {
  const lines = sessionLinesIn(join(folder, commandSessionName));
  return lines.length === 0 ? undefined : { agent: 'command', source: 'command', lines };
}

/** Of one prompt: its answer, and what else a program printed. */
function answerRecord(folder: string, { agent, model }: Known): RecordedSession {
  const { response, reasoning } = nodeLayout(folder);
  const [answer, thought] = [textIn(response), textIn(reasoning)];
  const printed = ['command', 'codex', 'claude']
    .map((name) => textIn(join(folder, `${name}.stdout.log`)))
    .filter((text) => text.trim() !== '' && text.trim() !== answer.trim());
  const known = sessionLinesIn(join(folder, answerSessionName));
  const last = known.at(-1)?.at;
  const at = last === undefined ? {} : { at: last };
  const texts: readonly SessionLine[] = [
    ...printed.map((text): SessionLine => ({ type: 'note', text })),
    { type: 'reasoning', ...at, text: thought },
    { type: 'text', ...at, text: answer },
  ];
  const isEmpty = [answer, thought, ...printed].every((text) => text.trim() === '');
  if (known.length === 0 && isEmpty) return { source: 'none', lines: [] };
  const start: SessionLine = {
    type: 'start',
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model }),
  };
  // What the turn used comes after its texts, as while it was asked.
  const isUsage = ({ type }: SessionLine) => type === 'usage';
  const before = known.length === 0 ? [start] : known.filter((line) => !isUsage(line));
  return { source: 'answer', lines: [...before, ...texts, ...known.filter(isUsage)] };
}

const sessionLinesIn = (path: string): readonly SessionLine[] =>
  linesIn(path).flatMap((line) => jsonLine(line, sessionLineSchema()) ?? []);

/** Bytes of one record that are read at once, and in all. */
const pieceBytes = 1024 * 1024;
const mostBytes = 256 * 1024 * 1024;
/** Bytes of a text that is shown as one. */
const mostOfText = 8 * 1024 * 1024;

/** The lines of a plain file; none where there is none. */
function linesIn(path: string): readonly string[] {
  const lines: string[] = [];
  const decoder = new StringDecoder();
  const reader = lineReader((line) => lines.push(line));
  for (let at = 0; at < mostBytes; ) {
    const part = readPart(path, at, at + pieceBytes);
    if (part === undefined || part.bytes.length === 0) break;
    at += part.bytes.length;
    reader.push(decoder.write(part.bytes));
  }
  reader.push(decoder.end());
  reader.end();
  return lines;
}

const textIn = (path: string): string => readPart(path, 0, mostOfText)?.bytes.toString('utf8') ?? '';
