/** The server of `keep --metrics`: the metrics, and nothing else. */
import { Hono } from 'hono';
import type { OpenRunList } from '../app/inspect/run-list.ts';
import { metricsText, metricsType } from '../keeper/metrics-text.ts';
import { queueMetrics, runCounts } from '../keeper/queue-metrics.ts';
import { packageVersion } from '../platform/package.ts';
import { bearerOnly, boundHeaders, ourHostOnly } from './security.ts';
import type { ServedQueue } from './served-queue.ts';
import { problem } from './web.ts';

/** Who may scrape. Without a token only a loopback address is listened on, and only its names are answered to. */
export type MetricsAccess = {
  readonly token: string | undefined;
  readonly host: string;
  readonly port: () => number;
};

/** The application: `fetch` answers a request. `internal` is called with errors that are ours. */
export function metricsApp(
  metrics: () => Promise<string>,
  { token, host, port }: MetricsAccess,
  internal: (error: unknown) => void,
): Hono {
  const app = new Hono();
  app.use('*', boundHeaders);
  app.use(
    '*',
    token === undefined ? ourHostOnly({ token: '', host, port, machine: host }) : bearerOnly(token),
  );
  app.get('/metrics', async () => metricsResponse(await metrics()));
  app.all('*', () => problem(404, 'not-found', 'only GET /metrics is answered here'));
  app.onError((error) => {
    internal(error);
    return problem(500, 'internal', 'internal error: the worker printed it', 'please report it');
  });
  return app;
}

/** The text of a scrape. Of a queue that cannot be read only the runs are in it. */
export async function scrapedMetrics(queue: ServedQueue, runs: OpenRunList): Promise<string> {
  const [report, rows] = await Promise.all([queue.report(), runs.rows()]);
  const known = 'problems' in report ? undefined : report;
  return metricsText(queueMetrics(known, runCounts(rows), packageVersion()));
}

export const metricsResponse = (text: string): Response =>
  new Response(text, { headers: { 'Content-Type': metricsType } });
