/** What people give runs: answers to their questions, from the page, from programs and with the token of a notice; notes to their
 *  agents. */
import { answerAndResume } from '../../app/answer-and-resume.ts';
import { questionOfToken } from '../../app/run/answer-token.ts';
import { reportOfNote, steerRun } from '../../app/steer-run.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import { answerTokenHeader } from '../security.ts';
import { type Handlers, problem, refusal, type Web } from '../web.ts';
import { recordPageAct } from './acts.ts';

export const answersApi: Pick<Handlers, 'answer' | 'steer'> = {
  answer: async ({ web, run, body, request: { headers } }) => {
    const token = headers.get(answerTokenHeader);
    const named = token === null ? body.question : questionOfToken(token);
    if (body.question !== undefined && body.question !== named)
      return problem(403, 'forbidden', `the token is for the question ${named} only`);
    const from = token === null && headers.get('Authorization') === null ? 'page' : 'api';
    web.answering.add(run.id);
    const request = { ...body, question: named, by: body.by ?? defaultBy(web, from), from } as const;
    const done = await answerAndResume(run.dir, request, web).finally(() => web.answering.delete(run.id));
    web.runs.expect(run.id);
    if ('problems' in done) return refusedAnswer(done);
    const { by, choice, text } = done.given;
    const what = { what: 'answer', question: done.question, by, resumed: done.resumed };
    recordPageAct(web, run.dir, {
      ...what,
      ...(choice === null ? {} : { choice }),
      ...(text === null ? {} : { text }),
    });
    return done;
  },
  steer: async ({ web, run, body, request: { headers } }) => {
    const from = headers.get('Authorization') === null ? 'page' : 'api';
    const request = { ...body, by: body.by ?? defaultBy(web, from), from } as const;
    const given = await steerRun(run.dir, request, web);
    if (!('problems' in given)) return reportOfNote(run.dir, request, given.note, web);
    const [first] = given.problems;
    if (first === undefined || !first.code.startsWith('steer-')) return refusal(given);
    const status = first.code === 'steer-text' || first.code === 'steer-branch' ? 400 : 409;
    return problem(status, first.code, first.message, first.fix);
  },
};

/** A model client is no person at the page, nor a program of one. */
const defaultBy = ({ who }: Web, from: 'page' | 'api'): string => (who === 'page' ? from : who);

/** With the code of the refusal: programs tell an answer that came second from one that is wrong. */
function refusedAnswer(refused: Refusal): Response {
  const [first] = refused.problems;
  if (first === undefined || !first.code.startsWith('answer-')) return refusal(refused);
  const status = first.code === 'answer-option' || first.code === 'answer-text' ? 400 : 409;
  return problem(status, first.code, first.message, first.fix);
}
