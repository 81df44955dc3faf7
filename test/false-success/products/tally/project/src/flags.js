const amount = /^-?\d+(\.\d{1,2})?$/;

const values = {
  '--by': (text) => (['category', 'month'].includes(text) ? { by: text } : undefined),
  '--min': (text) => (amount.test(text) ? { min: Math.round(Number(text) * 100) } : undefined),
  '--top': (text) => (/^[1-9]\d*$/.test(text) ? { top: Number(text) } : undefined),
};

/** The flags of a command line, or the problem with them. */
export function readFlags(args) {
  let flags = { by: 'category', min: -Infinity, top: Infinity, json: false };
  const files = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at];
    if (arg === '--json') flags.json = true;
    else if (values[arg]) {
      const value = values[arg](args[++at] ?? '');
      if (!value) return { problem: `${arg}: wrong value`, files };
      flags = { ...flags, ...value };
    } else if (arg.startsWith('--')) return { problem: `${arg}: no such flag`, files };
    else files.push(arg);
  }
  return { ...flags, files };
}
