/** Metres in each unit of length. */
const lengths = { mm: 0.001, cm: 0.01, m: 1, km: 1000, in: 0.0254, ft: 0.3048, mi: 1609.344 };

/** A length in another unit. Throws if a unit is unknown. */
export function convert(value, from, to) {
  for (const unit of [from, to])
    if (!Object.hasOwn(lengths, unit)) throw new Error(`unknown unit: ${unit}`);
  return (value * lengths[from]) / lengths[to];
}
