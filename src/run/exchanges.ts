/** What agents were asked and answered: a line of the journal for each call, long texts in the content store. */
import { ContentStore } from '../contents/store.ts';
import type { Body } from '../core/records/body.ts';
import type { Exchange } from '../core/records/exchange.ts';
import type { ExchangeFacts } from '../core/records/journal.ts';
import { layout } from '../core/records/layout.ts';

/** Bytes of a text that is kept in the line itself. */
const inlineBytes = 2048;

export interface ExchangeLog {
  /** A text as a line names it; a long one goes to the content store. */
  body(text: string): Promise<Body>;
  /** Adds a line. It counts with the next line that is flushed. */
  append(exchange: ExchangeFacts): void;
}

/** Records exchanges in a journal, whose commits flush `store` first. */
export const exchangeLog = (store: ContentStore, append: (line: ExchangeFacts) => void): ExchangeLog => ({
  async body(text) {
    const bytes = Buffer.from(text);
    if (bytes.length <= inlineBytes) return text;
    const batch = store.begin();
    try {
      const { hash } = batch.addContent(bytes);
      await batch.commit();
      return { sha256: hash, bytes: bytes.length };
    } finally {
      await batch.end();
    }
  },
  append,
});

/** Reads a text that an exchange names. Throws a DamagedStore where the run no longer has it, or other bytes. */
export type ReadBody = (body: Body) => string;

export function bodiesIn(runDir: string): ReadBody {
  let store: ContentStore | undefined;
  return (body) => {
    if (typeof body === 'string') return body;
    store ??= storeOfRun(runDir);
    return store.read(body.sha256).toString('utf8');
  };
}

/** The content store of a run, for reading. */
export function storeOfRun(runDir: string): ContentStore {
  const store = new ContentStore(layout(runDir).contents);
  store.refresh();
  return store;
}

/** Every text that an exchange names. */
export const bodiesOf = (exchange: Exchange): readonly Body[] => [
  exchange.prompt,
  exchange.items,
  ...(exchange.schema === null ? [] : [exchange.schema.schema]),
  ...(exchange.report === null ? [] : [exchange.report]),
  ...exchange.artifacts.map(({ content }) => content),
];
