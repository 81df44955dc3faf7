/** Addresses of the page ↔ what it shows. */

const runTabs = ['graph', 'timeline', 'events', 'changes', 'evidence', 'cost'] as const;
export type RunTab = (typeof runTabs)[number];

const nodeTabs = ['session', 'output', 'prompt', 'answer', 'changes', 'context', 'files'] as const;
export type NodeTab = (typeof nodeTabs)[number];

export type Address =
  | { readonly view: 'runs' }
  | { readonly view: 'new' }
  | { readonly view: 'queue' }
  /** Two runs side by side; without `b` it is to be chosen. */
  | { readonly view: 'compare'; readonly a: string; readonly b?: string }
  | {
      readonly view: 'run';
      readonly run: string;
      readonly tab: RunTab;
      /** The node below the tabs, with the number of its execution, if it is not the latest. */
      readonly node?: { readonly id: string; readonly visit?: number; readonly tab?: NodeTab };
      /** The group that is unfolded. */
      readonly group?: string;
      /** Of the changes: the work order whose they are; without it those of the whole run. */
      readonly of?: string;
    }
  | { readonly view: 'none' };

/** What an address shows. `search` begins with `?` or is empty. */
export function addressOf(path: string, search: string): Address {
  const parts = path.split('/').filter(Boolean).map(decoded);
  const query = new URLSearchParams(search);
  if (parts.length === 0 || (parts.length === 1 && parts[0] === 'runs')) return { view: 'runs' };
  if (parts.length === 1 && parts[0] === 'new') return { view: 'new' };
  if (parts.length === 1 && parts[0] === 'queue') return { view: 'queue' };
  const [room, run, kind, name] = parts;
  if (room === 'compare' && run !== undefined && parts.length <= 3)
    return { view: 'compare', a: run, ...(kind === undefined ? {} : { b: kind }) };
  if (room !== 'runs' || run === undefined || ![2, 4].includes(parts.length)) return { view: 'none' };
  const tab = runTabs.find((one) => one === query.get('tab')) ?? 'graph';
  const of = query.get('of') ?? '';
  const base = { view: 'run', run, tab, ...(of === '' ? {} : { of }) } as const;
  if (kind === undefined || name === undefined) return base;
  if (kind === 'orders') return { ...base, group: name };
  if (kind !== 'nodes') return { view: 'none' };
  const show = nodeTabs.find((one) => one === query.get('show'));
  return { ...base, node: { ...nodeNamed(name), ...(show === undefined ? {} : { tab: show }) } };
}

/** `verify@3` → its parts. */
export function nodeNamed(name: string): { readonly id: string; readonly visit?: number } {
  const found = /^(.+)@(\d+)$/.exec(name);
  return found === null ? { id: name } : { id: found[1] ?? '', visit: Number(found[2]) };
}

/** The path and query that show something, for a link. */
export function pathOf(address: Address): string {
  switch (address.view) {
    case 'runs':
    case 'none':
      return '/';
    case 'new':
      return '/new';
    case 'queue':
      return '/queue';
    case 'compare':
      return ['/compare', address.a, ...(address.b === undefined ? [] : [address.b])]
        .map((part, at) => (at === 0 ? part : encodeURIComponent(part)))
        .join('/');
    case 'run': {
      const { run, tab, node, group, of } = address;
      const base = `/runs/${encodeURIComponent(run)}`;
      const query = new URLSearchParams();
      if (tab !== 'graph') query.set('tab', tab);
      if (of !== undefined && tab === 'changes') query.set('of', of);
      if (node?.tab !== undefined) query.set('show', node.tab);
      const name = node && (node.visit === undefined ? node.id : `${node.id}@${node.visit}`);
      const rest = name
        ? `/nodes/${encodeURIComponent(name).replaceAll('%40', '@')}`
        : group
          ? `/orders/${encodeURIComponent(group)}`
          : '';
      return base + rest + (query.size > 0 ? `?${query}` : '');
    }
  }
}

/** `#L120` → 120. `mark` precedes the `L` in further texts of a page: `#2L120`. */
export function lineOf(hash: string, mark = ''): number | undefined {
  const found = /^#(\d*)L(\d+)$/.exec(hash);
  return found === null || found[1] !== mark ? undefined : Number(found[2]);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
