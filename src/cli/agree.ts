/** Asks a person on the terminal for a yes. */
import type { Terminal } from './io.ts';

/** Whether the person agrees: not at the end of input, on Escape or Ctrl-C. */
export async function agreesOnTerminal(message: string, { input, output }: Terminal): Promise<boolean> {
  // Loaded only when something is asked.
  const { confirm, isCancel } = await import('@clack/prompts');
  const ended = new AbortController();
  const end = (): void => ended.abort();
  input.once('end', end).once('close', end);
  try {
    const answer = await confirm({
      message,
      initialValue: false,
      withGuide: false,
      input,
      output,
      signal: ended.signal,
    });
    return !isCancel(answer) && answer;
  } finally {
    input.off('end', end).off('close', end);
  }
}
