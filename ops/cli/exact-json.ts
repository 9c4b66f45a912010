/**
 * Parses JSON that a person has written. Throws for a number that would become another one, such as 12345678901234567890. This is
 * stricter than the service, which also takes a number with zeros at its end: the package has none of the service's code.
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const outside = text.replace(/"(?:\\.|[^"\\])*"/gs, '""');
  for (const [number] of outside.matchAll(/-?\d[\d.eE+-]*/g))
    if (isLong(number) && String(Number(number)) !== number)
      throw new LossyNumber(`${number} is more than a JSON number holds: write it as a text`);
  return value;
}

export class LossyNumber extends Error {}

/** A double holds every number of fifteen digits without a large exponent. */
function isLong(number: string): boolean {
  return number.replace(/\D/g, '').length > 15 || /e[+-]?\d{3}/i.test(number);
}
