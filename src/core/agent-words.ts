/** The agent of a run in words: `openai gpt-5 at https://…`, with the models that are asked rather than its default. */

/** A model call: `model` is null where the agent chooses it itself. */
export type AskedModel = { readonly agent: string; readonly model: string | null };

/** Agents whose words name the model. */
const naming = /^(openai|codex|claude)\b( [^(]*?)?(?= at | \()/;

/** The words of an agent with these models; unchanged without any, or for an agent that has none. */
export const withModels = (words: string, models: readonly string[]): string =>
  models.length === 0 ? words : words.replace(naming, (_, agent: string) => `${agent} ${models.join(', ')}`);

/** The words of a run's agents after the run: only those that were asked, with the models that were asked. Agents that do not
 *  record calls, and a run without a call, keep their words. */
export function agentsAsked(words: string, asked: readonly AskedModel[]): string {
  if (asked.length === 0) return words;
  const left = new Map<string, string[]>();
  for (const { agent, model } of asked) {
    const models = left.get(agent) ?? [];
    left.set(agent, model === null || models.includes(model) ? models : [...models, model]);
  }
  const known = words.split(', else ').flatMap((part) => {
    const agent = /^\w+/.exec(part)?.[0] ?? '';
    const models = left.get(agent);
    left.delete(agent);
    return models === undefined && naming.test(part) ? [] : [withModels(part, models ?? [])];
  });
  const others = [...left].map(([agent, models]) => [agent, models.join(', ')].join(' ').trim());
  return [...known, ...others].filter((part) => part !== '').join(', else ');
}
