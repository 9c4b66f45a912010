import { declaredInputs } from '../ui/declared.ts';

/** In words what is not filled; undefined where nothing is missing. Without values the whole event is one input. */
export function unfilledText(definitions: unknown, given: unknown, noun: string): string | undefined {
  const inputs = declaredInputs(definitions);
  const values = typeof given === 'object' && given !== null && Object.keys(given).length > 0 ? given : { event: true };
  const empty = inputs.filter(({ key, initial }) => initial === undefined && !Object.hasOwn(values, key));
  const required = empty.filter(({ isRequired }) => isRequired).map(({ label }) => `“${label}”`);
  if (required.length > 0)
    return `Not filled, and the ${noun} requires it: ${required.join(', ')}. Events fail until it is filled.`;
  const isNoneFilled = inputs.length > 0 && inputs.every(({ key }) => !Object.hasOwn(values, key));
  return isNoneFilled
    ? `None of its inputs is filled (${inputs.map(({ label }) => label).join(', ')}): the ${noun} gets the event alone, as “event”.`
    : undefined;
}
