/** While the server runs, it waits for the answers to the questions of all runs: one that was given elsewhere, and that no other process
 *  takes, resumes the run. */
import { existsSync } from 'node:fs';
import { isTaken, resumeAnswered } from '../app/answer-and-resume.ts';
import { answerFile } from '../run/answer-files.ts';
import { servedRun, type Web } from './web.ts';

/** Milliseconds between two looks at the answers of known questions; between two looks for questions, where none is known; and in
 *  which the process that has answered may resume the run. */
const [lookMs, searchMs, othersMs] = [200, 1000, 400];

/** Watches until the server closes. `say` gets why a run could not be resumed: its answer is kept. */
export async function resumeAnsweredRuns(web: Web, say: (text: string) => void): Promise<void> {
  const { clock, closing, runs } = web;
  const since = clock.now().toISOString();
  const open = new Map<string, readonly string[]>();
  const done = new Set<string>();
  const watch = runs.watch();
  try {
    for (; !closing.aborted; await clock.sleep(open.size > 0 ? lookMs : searchMs, closing)) {
      for (const run of watch.take()) {
        // An answer of earlier was left without a resume on purpose, or for a reason.
        const questions = runs
          .find(run)
          ?.questions.filter(({ answer }) => answer === null || answer.at >= since);
        if (questions === undefined || questions.length === 0) open.delete(run);
        else
          open.set(
            run,
            questions.map(({ id }) => id),
          );
      }
      for (const [id, question] of [...open].flatMap(([run, all]) => all.map((one) => [run, one] as const))) {
        const run = servedRun(web, id);
        const name = `${id} ${question}`;
        if (run === undefined || done.has(name) || !existsSync(answerFile(run.dir, question))) continue;
        done.add(name);
        runs.expect(id);
        if (web.answering.has(id)) continue;
        void resume(run.dir, question, web).then((why) => {
          if (why !== '')
            say(`run ${id}: ${question} is answered, but the run cannot be resumed here: ${why}`);
        });
      }
    }
  } finally {
    watch.close();
  }
}

async function resume(dir: string, question: string, web: Web): Promise<string> {
  if (await isTaken(dir, question, { ...web, patienceMs: othersMs })) return '';
  return (await resumeAnswered(dir, question, web)).why;
}
