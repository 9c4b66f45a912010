import { useMemo, useState } from 'react';
import { standing } from './schema-value.ts';

type Faults = ReadonlyMap<string, string>;

/** The API's faults, by dotted paths, of what in a value is as it was when the API told them. */
export function useStanding(faults: Faults, value: unknown): Faults {
  const text = JSON.stringify([...faults]);
  const [told, setTold] = useState({ text, value });
  if (told.text !== text) setTold({ text, value });
  return useMemo(() => standing(new Map(JSON.parse(text)), told.value, value), [text, told, value]);
}
