/** The queue: what it looks like, its changes, and metrics of it. */
import type { Refusal } from '../../core/diagnostic.ts';
import { needsPerson } from '../../core/needs-person.ts';
import type { QueueJobRow, QueueReport } from '../../core/records/queue-report.ts';
import { metricsResponse, scrapedMetrics } from '../metrics-app.ts';
import { eventStream, message } from '../sse.ts';
import { type Handlers, refusal, type Web } from '../web.ts';

/** Milliseconds between two looks at the queue. */
const lookMs = 1000;

export const queueApi: Pick<Handlers, 'queue' | 'queueStream' | 'metrics'> = {
  queue: async ({ web, query }) => {
    const report = await web.queue.report();
    return 'problems' in report ? refusal(report) : shortened(report, query.most);
  },
  queueStream: async ({ web, query, request }) =>
    eventStream((signal) => queueChanges(web, query.most, signal), web, request),
  metrics: async ({ web }) => metricsResponse(await scrapedMetrics(web.queue, web.runs)),
};

/** The report with at most so many jobs of each state, those that need a person counted apart. */
export function shortened(report: QueueReport, most: number | undefined): QueueReport {
  if (most === undefined) return report;
  const shown = new Map<string, number>();
  const jobs = report.jobs.filter((job) => {
    const kind = needsPerson(job) ? 'needs_person' : job.state;
    const count = (shown.get(kind) ?? 0) + 1;
    shown.set(kind, count);
    return count <= most;
  });
  return { ...report, jobs };
}

/** The queue, whenever it changes in more than the time; or why it cannot be read. */
async function* queueChanges(web: Web, most: number, signal: AbortSignal): AsyncGenerator<string> {
  let known = '';
  while (!signal.aborted) {
    const report = await web.queue.report();
    const is = 'problems' in report ? problemText(report) : reportText(report, most);
    if (is.identity !== known) yield is.text;
    known = is.identity;
    await web.clock.sleep(lookMs, signal);
  }
}

type Shown = { readonly text: string; readonly identity: string };

function problemText({ problems: [first] }: Refusal): Shown {
  const { code = 'refused', message: text = '', fix = '' } = first ?? {};
  const all = message('problem', { code, message: text, fix });
  return { text: all, identity: all };
}

/** Texts of a report, by how many jobs they show: streams share them. */
const texts = new WeakMap<QueueReport, Map<number, Shown>>();

function reportText(report: QueueReport, most: number): Shown {
  const made = texts.get(report) ?? new Map<number, Shown>();
  texts.set(report, made);
  const known = made.get(most);
  if (known !== undefined) return known;
  const short = shortened(report, most);
  const shown = {
    text: message('queue', short),
    identity: JSON.stringify({ ...short, at: '', jobs: short.jobs.map(withoutTime) }),
  };
  made.set(most, shown);
  return shown;
}

const withoutTime = (job: QueueJobRow): QueueJobRow => ({ ...job, waited_ms: null });
